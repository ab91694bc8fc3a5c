"""What docs/openapi.json cannot say of a body that is right, is done to the bodies that schemathesis takes to be right.

Bodies that are meant to be wrong stay as they are.
"""
import schemathesis

INTEGER_MAX = 2**63 - 1


def hold_exactly_one_content(file):
    kinds = [kind for kind in ("content", "content_base64", "file_id") if kind in file]
    for kind in kinds[1:]:
        del file[kind]
    if not kinds:
        file["content"] = ""


def be_names_of_different_files(files):
    """Neither the same, nor one the folder of another; each part at most 255 bytes, and no ".."."""
    for number, file in enumerate(files):
        parts = [part[:60].strip(".") for part in file["name"].split("/")]
        file["name"] = "/".join([str(number), *(part for part in parts if part)])


def complete_execute(body):
    for file in body.get("files", ()):
        hold_exactly_one_content(file)
    be_names_of_different_files(body.get("files", ()))


def complete_put_agent(body):
    """Without an image: there is no registry that the tests' service could reach."""
    body.pop("image", None)
    for number, tool in enumerate(body.get("tools", ())):
        tool["name"] = f"{tool['name'][:60]}{number}"
        if "parameters" in tool:
            tool["parameters"] = {**keep_to_jansson(tool["parameters"]), "type": "object", "properties": {}}


def keep_to_jansson(value):
    """The decoder takes integers of 64 bits, and no NUL in the name of a member."""
    if isinstance(value, dict):
        return {name.replace("\0", ""): keep_to_jansson(each) for name, each in value.items()}
    if isinstance(value, list):
        return [keep_to_jansson(each) for each in value]
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    return max(-INTEGER_MAX, min(value, INTEGER_MAX)) if is_integer else value


def complete_call(body):
    body["arguments"] = keep_to_jansson(body.get("arguments"))


COMPLETED = {"execute": complete_execute, "put_agent": complete_put_agent, "call": complete_call}
LEAST = {"execute": {"code": ""}, "put_agent": {}, "call": {"agent": "a", "tool": "t"}}


@schemathesis.hook
def before_call(context, case, **_):
    name = case.operation.definition.raw.get("operationId")
    if name not in COMPLETED or not case.meta or not case.meta.generation.mode.is_positive:
        return
    if not isinstance(case.body, dict):  # beside a header with a pattern, 4.32.5 takes 0 for a right body of any type
        case.body = dict(LEAST[name])
    COMPLETED[name](case.body)
