"""A chat about data, in the terminal. The model is of any server that speaks OpenAI's chat completions; its code runs
in sandboxes, and is shown with what came of it.

    pip install './python[openai]'
    export OPENAI_API_KEY=... OPENAI_MODEL=...              # and OPENAI_BASE_URL, if it is not OpenAI's own server
    export CODE_SANDBOX_URL=... CODE_SANDBOX_KEY=... CODE_SANDBOX_AGENT=...
    python3 examples/chat/chat.py sales.csv

Files that are named are in the working directory of the code; charts and files that it makes are kept in chat-results.
With a stateful agent (CODE_INTERPRETER_SESSION=true) variables live from one question to the next. An empty line or the
end of the input leaves; Ctrl-C gives up a question.
"""

import argparse
import functools
import os
import sys
import uuid
from contextlib import suppress
from pathlib import Path, PurePosixPath

from openai import OpenAI, OpenAIError

from code_sandbox import Client, CodeSandboxError, Run, conversation, run_python
from code_sandbox.adapters.openai import answers, tools

ROUNDS_MAX = 20  # of tool calls for one question
INSTRUCTIONS = "You help with questions about data. Use run_python to look at data, to compute, and to draw charts."


class Chat:
    def __init__(self, files: list[Path], results: Path, images: bool) -> None:
        self.model, self.client = OpenAI(), Client()
        self.files, self.results, self.images = {path.name: path for path in files}, results, images
        self.files_are_there = False  # in a session they stay
        self.saved = 0
        self.tool = functools.wraps(run_python)(lambda *given, **named: self.run(*given, **named))  # described as it is
        names = ", ".join(self.files) or "none yet"
        self.messages: list = [
            {"role": "system", "content": f"{INSTRUCTIONS} Files in the working directory: {names}."}
        ]

    def run(self, code: str, timeout_s: float | None = None) -> Run:
        """The tool: as run_python, but with the files, and shown."""
        print("\n" + "\n".join(f"  | {line}" for line in code.splitlines()))
        try:
            run = self.client.run(code, timeout_s=timeout_s, files=None if self.files_are_there else self.files)
        except CodeSandboxError as problem:
            print(f"  {problem}")  # the model is told as well
            raise
        self.files_are_there = run.session.stateful and not run.session.restarted
        print("\n".join(f"  {line}" for line in str(run).splitlines()))
        for image in run.images:
            self.save("chart.png", image)
        for file in run.files:
            self.save(file.name, self.client.files.get(file))
        return run

    def save(self, name: str, content: bytes) -> None:
        """Under a number of ours and the last part of a name that the sandbox chose."""
        self.saved += 1
        self.results.mkdir(parents=True, exist_ok=True)
        path = self.results / f"{self.saved}-{PurePosixPath(name).name}"
        path.write_bytes(content)
        print(f"  -> {path}")

    def answer(self, question: str) -> str:
        self.messages.append({"role": "user", "content": question})
        for _ in range(ROUNDS_MAX):
            message = (
                self.model.chat.completions.create(
                    model=os.environ.get("OPENAI_MODEL", "gpt-5"), messages=self.messages, tools=tools(self.tool)
                )
                .choices[0]
                .message
            )
            self.messages.append(message)
            if not message.tool_calls:
                return message.content or ""
            self.messages += answers(message, self.tool, images=self.images)
        return f"No answer after {ROUNDS_MAX} rounds of tool calls."

    def ask(self, question: str) -> None:
        before = len(self.messages)
        try:
            print(f"\n{self.answer(question)}\n")
            return
        except (OpenAIError, CodeSandboxError) as problem:
            print(f"\n{problem}\n")
        except KeyboardInterrupt:
            print("\ngiven up\n")
        del self.messages[before:]  # a call without its answer would be refused the next time


def question() -> str:
    try:
        return input("> ").strip()
    except (EOFError, KeyboardInterrupt):
        return ""


def main() -> None:
    parser = argparse.ArgumentParser(description="A chat about data; the model's code runs in sandboxes.")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="data for the code's working directory")
    parser.add_argument("--results", type=Path, default=Path("chat-results"), help="where charts and files are kept")
    parser.add_argument("--no-images", action="store_true", help="for a model that cannot see charts")
    options = parser.parse_args()
    if missing := [str(path) for path in options.files if not path.is_file()]:
        sys.exit(f"There is no file {', '.join(missing)}.")
    try:
        chat = Chat(options.files, options.results, not options.no_images)
    except (OpenAIError, ValueError) as problem:
        sys.exit(str(problem))
    conversation_id = f"chat-{uuid.uuid4().hex[:12]}"
    with chat.client, conversation(conversation_id):
        while asked := question():
            chat.ask(asked)
        with suppress(CodeSandboxError):
            chat.client.sessions.end(conversation_id)  # others may want its place


if __name__ == "__main__":
    main()
