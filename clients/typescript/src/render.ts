// A run as text for a model, and its charts for one that can see.

import { decodeBase64 } from "./base64.js";
import type { Run } from "./models.js";

/** Characters of each stream that a model is shown; its window is dear. */
const OUTPUT_MAX = 20_000;

const ENDINGS: Partial<Record<string, string>> = {
  timeout: "It was stopped at its time limit.",
  out_of_memory: "It was stopped because it needed too much memory.",
  output_limit: "It was stopped because it printed too much.",
  killed: "Its sandbox was lost, which is not the code's fault. Run it again.",
  internal: "It never ran, and the fault is the service's. Run it again.",
};

function shortened(text: string): string {
  const half = OUTPUT_MAX / 2;
  const left = text.length - OUTPUT_MAX;
  return text.length <= OUTPUT_MAX
    ? text
    : `${text.slice(0, half)}\n[... ${left} characters are left out here ...]\n${text.slice(-half)}`;
}

function block(title: string, text: string): string {
  return text ? `${title}:\n${shortened(text).trimEnd()}` : "";
}

function endOf(run: Run): string {
  return ENDINGS[run.outcome] ?? (run.exit_code ? `It ended with exit code ${run.exit_code}.` : "");
}

/** All that a model needs to go on, and nothing twice. */
export function runAsText(run: Run): string {
  const charts = run.results.filter((result) => "image/png" in result).length;
  const values = run.results.filter((result) => !("image/png" in result)).map((result) => result["text/plain"] ?? "");
  const files = run.files.map((file) => `${file.name} (${file.size} bytes)`);
  const skipped = run.files_skipped.map((file) => `${file.name} (${file.reason})`);
  const parts = [
    run.session.message ?? "",
    endOf(run),
    block("stdout", run.stdout),
    block("stderr", run.stderr),
    ...values.map((value) => block("value", value)),
    charts ? `${charts} ${charts === 1 ? "chart was" : "charts were"} drawn.` : "",
    files.length > 0 ? `files written: ${files.join(", ")}` : "",
    skipped.length > 0 ? `files not handed over: ${skipped.join(", ")}` : "",
    run.hint ? `hint: ${run.hint}` : "",
  ];
  return parts.filter((part) => part !== "").join("\n\n") || "It ran, and printed nothing.";
}

/** The charts, as PNG. */
export function imagesOf(run: Run): Uint8Array[] {
  return run.results.flatMap((result) =>
    result["image/png"] === undefined ? [] : [decodeBase64(result["image/png"])],
  );
}
