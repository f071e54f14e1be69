// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path"
	"sort"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"
)

// What templates see as .Release.
type release struct {
	Name      string
	Namespace string
	Service   string
	Revision  int
	IsInstall bool
	IsUpgrade bool
}

// What templates see as .Capabilities: a cluster as `helm template` assumes it.
type capabilities struct {
	KubeVersion kubeVersion
	APIVersions apiVersions
}

type kubeVersion struct{ Version, Major, Minor string }

func (v kubeVersion) String() string { return v.Version }

type apiVersions []string

func (a apiVersions) Has(version string) bool {
	for _, known := range a {
		if known == version {
			return true
		}
	}
	return false
}

// render returns what each template became, by its name.
func (c *chart) render(release release) (map[string]string, error) {
	root := template.New("root").Option("missingkey=zero")
	root.Funcs(functions(root))
	for name, text := range c.Templates {
		if _, err := root.New(name).Parse(text); err != nil {
			return nil, err
		}
	}
	rendered := map[string]string{}
	for name := range c.Templates {
		// Names with an underscore hold definitions only.
		if strings.HasPrefix(path.Base(name), "_") {
			continue
		}
		data := map[string]interface{}{
			"Values":  c.Values,
			"Chart":   c.Metadata,
			"Files":   c.Files,
			"Release": release,
			"Capabilities": capabilities{
				KubeVersion: kubeVersion{Version: "v1.27.0", Major: "1", Minor: "27"},
				APIVersions: apiVersions{"v1", "apps/v1", "policy/v1", "networking.k8s.io/v1"},
			},
			"Template": map[string]interface{}{
				"Name":     name,
				"BasePath": c.Metadata.Name + "/templates",
			},
		}
		var text strings.Builder
		if err := root.ExecuteTemplate(&text, name, data); err != nil {
			return nil, err
		}
		// Helm prints nothing for what is not there, which hides misspelled values.
		if strings.Contains(text.String(), "<no value>") {
			return nil, fmt.Errorf("%s: a value that does not exist was printed:\n%s", name, text.String())
		}
		rendered[name] = text.String()
	}
	return rendered, nil
}

type header struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name        string            `json:"name"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
}

type document struct {
	header
	source, text string
}

// The order of Helm for what this chart has; what follows needs what precedes.
var installOrder = []string{
	"NetworkPolicy", "PodDisruptionBudget", "ServiceAccount", "Secret", "ConfigMap",
	"PersistentVolumeClaim", "Service", "Pod", "StatefulSet", "PrometheusRule", "ServiceMonitor",
}

func place(kind string) int {
	for i, known := range installOrder {
		if known == kind {
			return i
		}
	}
	return len(installOrder)
}

// manifest puts documents one after the other as `helm template` does.
func manifest(rendered map[string]string, noHooks bool) (string, error) {
	var documents []document
	for source, text := range rendered {
		if path.Ext(source) != ".yaml" {
			continue
		}
		for _, part := range strings.Split("\n"+text, "\n---") {
			part = strings.TrimSpace(part)
			if part == "" {
				continue
			}
			d := document{source: source, text: part}
			if err := yaml.Unmarshal([]byte(part), &d.header); err != nil {
				return "", fmt.Errorf("%s: %w in:\n%s", source, err, part)
			}
			if d.Kind == "" || d.Metadata.Name == "" {
				return "", fmt.Errorf("%s: a document without kind or metadata.name:\n%s", source, part)
			}
			if _, hook := d.Metadata.Annotations["helm.sh/hook"]; hook && noHooks {
				continue
			}
			documents = append(documents, d)
		}
	}
	sort.Slice(documents, func(i, j int) bool {
		a, b := documents[i], documents[j]
		if place(a.Kind) != place(b.Kind) {
			return place(a.Kind) < place(b.Kind)
		}
		return a.Metadata.Name < b.Metadata.Name
	})
	var all strings.Builder
	for _, d := range documents {
		fmt.Fprintf(&all, "---\n# Source: %s\n%s\n", d.source, d.text)
	}
	return all.String(), nil
}
