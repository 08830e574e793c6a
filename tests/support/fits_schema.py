#!/usr/bin/env python3
"""Whether a TOML file fits a JSON Schema, as far as `dlbench schema` uses it. Exit code 1, with the first value that does not.

usage: fits_schema.py SCHEMA FILE
"""

import json
import sys
import tomllib

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)}
KNOWN = {"$schema", "type", "description", "default", "properties", "additionalProperties", "items", "minItems", "minimum",
         "maximum", "maxLength", "enum"}


def is_of(value, name):
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def check(value, schema, place):
    unknown = set(schema) - KNOWN
    if unknown:
        sys.exit(f"the schema has {unknown} at {place}, which this does not know")
    wanted = schema.get("type", [])
    wanted = wanted if isinstance(wanted, list) else [wanted]
    if wanted and not any(is_of(value, name) for name in wanted):
        sys.exit(f"{place}: {value!r} is none of {wanted}")
    if "enum" in schema and value not in schema["enum"]:
        sys.exit(f"{place}: {value!r} is none of {schema['enum']}")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if not schema.get("minimum", value) <= value <= schema.get("maximum", value):
            sys.exit(f"{place}: {value!r} is out of range")
    if isinstance(value, str) and len(value) > schema.get("maxLength", len(value)):
        sys.exit(f"{place}: too long")
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            sys.exit(f"{place}: too few values")
        for number, item in enumerate(value):
            check(item, schema.get("items", {}), f"{place}[{number}]")
    if isinstance(value, dict):
        others = schema.get("additionalProperties", {})
        for key, item in value.items():
            below = schema.get("properties", {}).get(key, others)
            if below is False:
                sys.exit(f"{place}.{key}: no such key")
            check(item, below, f"{place}.{key}")


with open(sys.argv[1], encoding="utf-8") as file:
    of_all = json.load(file)
with open(sys.argv[2], "rb") as file:
    check(tomllib.load(file), of_all, "")
