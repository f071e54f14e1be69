// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"sigs.k8s.io/yaml"
)

// functions are what templates may call: sprig's, and of Helm's own the ones
// below. `root` is the template that knows all others.
func functions(root *template.Template) template.FuncMap {
	all := sprig.TxtFuncMap()
	// As in Helm: a chart does not depend on who renders it.
	delete(all, "env")
	delete(all, "expandenv")

	all["include"] = func(name string, data interface{}) (string, error) {
		var text strings.Builder
		err := root.ExecuteTemplate(&text, name, data)
		return text.String(), err
	}
	all["tpl"] = func(text string, data interface{}) (string, error) {
		clone, err := root.Clone()
		if err != nil {
			return "", err
		}
		parsed, err := clone.New("tpl").Funcs(functions(clone)).Parse(text)
		if err != nil {
			return "", err
		}
		var result strings.Builder
		err = parsed.Execute(&result, data)
		return result.String(), err
	}
	all["required"] = func(message string, value interface{}) (interface{}, error) {
		if value == nil || value == "" {
			return nil, errors.New(message)
		}
		return value, nil
	}
	// Helm returns nothing where this fails.
	all["toYaml"] = func(value interface{}) (string, error) {
		text, err := yaml.Marshal(value)
		return strings.TrimSuffix(string(text), "\n"), err
	}
	// Helm returns the error as the member Error.
	all["fromYaml"] = func(text string) (map[string]interface{}, error) {
		value := map[string]interface{}{}
		err := yaml.Unmarshal([]byte(text), &value)
		return value, err
	}
	all["toJson"] = func(value interface{}) (string, error) {
		text, err := json.Marshal(value)
		return string(text), err
	}
	for _, name := range []string{"lookup", "toToml", "fromJson", "fromYamlArray", "fromJsonArray"} {
		all[name] = unknown(name)
	}
	return all
}

func unknown(name string) func(...interface{}) (string, error) {
	return func(...interface{}) (string, error) {
		return "", fmt.Errorf("helm_render does not know Helm's function %s", name)
	}
}
