// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/xeipuuv/gojsonschema"
	"sigs.k8s.io/yaml"
)

// What templates see as .Chart. Helm's members have these names.
type metadata struct {
	APIVersion  string            `json:"apiVersion"`
	Name        string            `json:"name"`
	Version     string            `json:"version"`
	AppVersion  string            `json:"appVersion"`
	KubeVersion string            `json:"kubeVersion"`
	Description string            `json:"description"`
	Type        string            `json:"type"`
	Home        string            `json:"home"`
	Keywords    []string          `json:"keywords"`
	Sources     []string          `json:"sources"`
	Annotations map[string]string `json:"annotations"`
}

type chart struct {
	Metadata metadata
	Values   map[string]interface{}
	// Text by name: lossscaler/templates/service.yaml.
	Templates map[string]string
	// What is in neither templates/ nor the files that Helm knows, by path.
	Files  files
	schema []byte
}

// What templates see as .Files.
type files map[string]string

func (f files) Get(path string) string { return f[path] }

func loadChart(folder string, exactNumbers bool) (*chart, error) {
	c := &chart{Templates: map[string]string{}, Files: files{}}
	description, err := os.ReadFile(filepath.Join(folder, "Chart.yaml"))
	if err != nil {
		return nil, err
	}
	if err := yaml.UnmarshalStrict(description, &c.Metadata); err != nil {
		return nil, fmt.Errorf("Chart.yaml: %w", err)
	}
	if c.Metadata.APIVersion != "v2" || c.Metadata.Name == "" || c.Metadata.Version == "" {
		return nil, fmt.Errorf("Chart.yaml: want apiVersion v2, a name and a version")
	}
	if c.Values, err = readValues(filepath.Join(folder, "values.yaml"), exactNumbers); err != nil {
		return nil, err
	}
	if c.schema, err = os.ReadFile(filepath.Join(folder, "values.schema.json")); err != nil {
		return nil, err
	}
	return c, c.loadFiles(folder)
}

func (c *chart) loadFiles(folder string) error {
	return filepath.Walk(folder, func(path string, _ os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		// Not what Walk found: links are followed, as by Helm.
		info, err := os.Stat(path)
		if err != nil || info.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		switch {
		case strings.HasPrefix(name, "templates/"):
			c.Templates[c.Metadata.Name+"/"+name] = string(content)
		case name != "Chart.yaml" && name != "values.yaml" && name != "values.schema.json" && name != ".helmignore":
			c.Files[name] = string(content)
		}
		return nil
	})
}

func (c *chart) notesName() string { return c.Metadata.Name + "/templates/NOTES.txt" }

func (c *chart) checkValues() error {
	values, err := json.Marshal(c.Values)
	if err != nil {
		return err
	}
	result, err := gojsonschema.Validate(gojsonschema.NewBytesLoader(c.schema), gojsonschema.NewBytesLoader(values))
	if err != nil {
		return fmt.Errorf("values.schema.json: %w", err)
	}
	if result.Valid() {
		return nil
	}
	problems := []string{"values don't meet values.schema.json:"}
	for _, problem := range result.Errors() {
		problems = append(problems, "- "+problem.String())
	}
	return fmt.Errorf("%s", strings.Join(problems, "\n"))
}
