// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/yaml"
)

// readValues reads YAML as Helm does: by way of JSON.
func readValues(path string, exactNumbers bool) (map[string]interface{}, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var options []yaml.JSONOpt
	if exactNumbers {
		options = append(options, func(decoder *json.Decoder) *json.Decoder {
			decoder.UseNumber()
			return decoder
		})
	}
	values := map[string]interface{}{}
	if err := yaml.Unmarshal(text, &values, options...); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return values, nil
}

// merge puts values over those of `into`: tables are merged, all else is
// replaced, and null takes a key away.
func merge(into, values map[string]interface{}) {
	for key, value := range values {
		if value == nil {
			delete(into, key)
			continue
		}
		below, isTable := value.(map[string]interface{})
		present, wasTable := into[key].(map[string]interface{})
		if isTable && wasTable {
			merge(present, below)
		} else {
			into[key] = value
		}
	}
}

// assign does path.to.key=value. Of Helm's syntax for --set it knows that true,
// false, null and whole numbers are what they look like, and a backslash before
// a dot in a key; lists belong into a file.
func assign(values map[string]interface{}, set string) error {
	path, text, found := strings.Cut(set, "=")
	if !found {
		return fmt.Errorf("--set %s: want path.to.key=value", set)
	}
	if strings.ContainsAny(path, "[]{}") || strings.ContainsAny(text, "{},\\") {
		return fmt.Errorf("--set %s: lists and escapes are for a file of values (-f)", set)
	}
	const dot = "\x00"
	keys := strings.Split(strings.ReplaceAll(path, `\.`, dot), ".")
	for i := range keys {
		keys[i] = strings.ReplaceAll(keys[i], dot, ".")
	}
	tree := map[string]interface{}{}
	below := tree
	for _, key := range keys[:len(keys)-1] {
		next := map[string]interface{}{}
		below[key] = next
		below = next
	}
	below[keys[len(keys)-1]] = typed(text)
	merge(values, tree)
	return nil
}

func typed(text string) interface{} {
	switch text {
	case "true":
		return true
	case "false":
		return false
	case "null":
		return nil
	}
	var number int64
	if _, err := fmt.Sscanf(text, "%d", &number); err == nil && fmt.Sprint(number) == text {
		return number
	}
	return text
}
