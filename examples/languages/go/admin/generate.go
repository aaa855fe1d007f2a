// Package admin is the client of the broker's admin API, generated from its OpenAPI document.
package admin

//go:generate go tool oapi-codegen -generate types,client -package admin -o admin.gen.go ../openapi.json
