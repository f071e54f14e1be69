// Copyright 2026 The Loss Scaler Service Authors
// SPDX-License-Identifier: Apache-2.0

// helm_render prints what `helm template` would print for a chart, as far as
// the chart uses what is in functions.go: Helm itself is not in Debian. Anything
// else in a template is an error, so that nothing is rendered in another way.
//
//	helm_render [flags] CHART
//
// Exit codes: 0 rendered, 1 the chart or its values are refused, 2 wrong usage.
package main

import (
	"flag"
	"fmt"
	"os"
)

// A flag that may be given several times.
type list []string

func (l *list) String() string { return fmt.Sprint(*l) }

func (l *list) Set(value string) error {
	*l = append(*l, value)
	return nil
}

func main() {
	var files, sets list
	release := release{Service: "Helm", Revision: 1, IsInstall: true}
	flag.StringVar(&release.Name, "release", "lossscaler", "name of the release")
	flag.StringVar(&release.Namespace, "namespace", "default", "namespace of the release")
	flag.StringVar(&release.Service, "service", release.Service, "who renders: what templates see as .Release.Service")
	flag.Var(&files, "f", "file with values; a later one beats an earlier one")
	flag.Var(&sets, "set", "value as path.to.key=value; beats every file")
	noHooks := flag.Bool("no-hooks", false, "leave out hooks, such as tests")
	notes := flag.Bool("notes", false, "print only NOTES.txt, as after an installation")
	exactNumbers := flag.Bool("exact-numbers", false,
		"give templates numbers as they are written, as newer Helm does with values.yaml, and not as floating point")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: helm_render [flags] CHART")
		flag.PrintDefaults()
		os.Exit(2)
	}

	text, err := run(flag.Arg(0), release, files, sets, *exactNumbers, *notes, *noHooks)
	if err != nil {
		fmt.Fprintln(os.Stderr, "helm_render:", err)
		os.Exit(1)
	}
	fmt.Print(text)
}

func run(folder string, release release, files, sets []string, exactNumbers, notes, noHooks bool) (string, error) {
	chart, err := loadChart(folder, exactNumbers)
	if err != nil {
		return "", err
	}
	for _, file := range files {
		given, err := readValues(file, exactNumbers)
		if err != nil {
			return "", err
		}
		merge(chart.Values, given)
	}
	for _, set := range sets {
		if err := assign(chart.Values, set); err != nil {
			return "", err
		}
	}
	if err := chart.checkValues(); err != nil {
		return "", err
	}
	rendered, err := chart.render(release)
	if err != nil {
		return "", err
	}
	if notes {
		return rendered[chart.notesName()], nil
	}
	return manifest(rendered, noHooks)
}
