"""The API reference, as a page of Markdown, from the service's OpenAPI document."""

INTRODUCTION = """\
# API reference

Every endpoint of the service, from its OpenAPI document, which it serves itself at `/openapi.json`; client generators and
tools such as Postman read that. [run-code.md](run-code.md) explains the most used of them with examples.

All but the open ones want `Authorization: Bearer KEY`. An answer other than 2xx is an [Error](#error).
"""
METHODS = ("get", "put", "post", "delete", "patch")


def cell(text):
    return " ".join(str(text).split()).replace("|", "\\|")


def resolve(document, node):
    """What a reference stands for."""
    while "$ref" in node:
        target = document
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        node = target
    return node


def type_of(schema):
    """In words, with links to objects: "list of [File](#file)", "text or null"."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})"
    for several in ("oneOf", "anyOf", "allOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(type_of(part) for part in schema[several]))
    if "enum" in schema:
        return "one of " + ", ".join(f"`{value}`" if value is not None else "null" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    kind = schema.get("type", "anything")
    if isinstance(kind, list):
        return " or ".join(type_of({**schema, "type": one}) if one != "null" else "null" for one in kind)
    if kind == "array":
        return f"list of {type_of(schema.get('items', {}))}"
    return {"string": "text", "integer": "whole number", "boolean": "true or false"}.get(kind, kind)


def properties(schema):
    wanted = set(schema.get("required", ()))
    yield "| field | type | |"
    yield "|---|---|---|"
    for name, part in schema.get("properties", {}).items():
        required = "" if name in wanted else " (optional)"
        yield f"| `{name}` | {cell(type_of(part))}{required} | {cell(part.get('description', ''))} |"


def parameters(document, operation, shared):
    rows = [resolve(document, part) for part in [*shared, *operation.get("parameters", ())]]
    if not rows:
        return
    yield "\n| parameter | in | type | |\n|---|---|---|---|"
    for part in rows:
        yield (f"| `{part['name']}` | {part['in']} | {cell(type_of(part.get('schema', {})))} |"
               f" {cell(part.get('description', ''))} |")


def body(document, part):
    """The types that a request body or an answer has, with what is in them."""
    content = resolve(document, part).get("content", {})
    return ", ".join(f"`{media}`: {cell(type_of(of.get('schema', {})))}" for media, of in content.items())


def operation_text(document, method, path, operation, shared):
    yield f"\n### {method.upper()} {path}\n"
    yield operation.get("summary", "").rstrip(".") + ("." if operation.get("summary") else "")
    if operation.get("description"):
        yield "\n" + operation["description"]
    yield from parameters(document, operation, shared)
    if "requestBody" in operation:
        yield f"\nBody: {body(document, operation['requestBody'])}"
    yield "\n| answer | | |\n|---|---|---|"
    for status, answer in operation["responses"].items():
        if status.startswith(("2", "3")):
            yield f"| {status} | {cell(resolve(document, answer).get('description', ''))} | {body(document, answer)} |"
    refusals = [status for status in operation["responses"] if status.startswith(("4", "5"))]
    if refusals:
        yield f"| {', '.join(refusals)} | refused, or failed | [Error](#error) |"


def markdown(document):
    lines = [INTRODUCTION]
    for tag in document["tags"]:
        lines.append(f"\n## Endpoints: {tag['name']}\n\n{tag.get('description', '')}")
        for path, item in document["paths"].items():
            for method in METHODS:
                if method in item and tag["name"] in item[method].get("tags", ()):
                    lines += operation_text(document, method, path, item[method], item.get("parameters", ()))
    lines.append("\n## Objects")
    for name, schema in sorted(document["components"]["schemas"].items()):
        lines.append(f"\n### {name}\n\n{schema.get('description', '')}\n")
        lines += properties(schema) if "properties" in schema else [type_of(schema)]
    return "\n".join(lines) + "\n"
