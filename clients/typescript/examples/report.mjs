// A small report of a CSV file: node examples/report.mjs sales.csv OUTPUT-FOLDER
//
// The file goes into a sandbox, pandas makes a table and a chart of it, and both are fetched. Address and key of the
// service are in CODE_SANDBOX_URL and CODE_SANDBOX_KEY.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { Client, imagesOf } from "@code-sandbox/client";

const [source, folder] = process.argv.slice(2);
if (!source || !folder) {
  console.error("usage: report.mjs FILE.csv OUTPUT-FOLDER");
  process.exit(64);
}

const code = `
import sys
import pandas as pd
import matplotlib.pyplot as plt

data = pd.read_csv(sys.stdin.readline().strip())
by = data.select_dtypes(exclude="number").columns[0]
totals = data.groupby(by).sum(numeric_only=True)
print(totals)
totals.to_csv("totals.csv")
totals.plot.bar()
plt.tight_layout()
plt.show()
`;

const client = new Client();
const files = { [basename(source)]: await readFile(source) };
await mkdir(folder, { recursive: true });
for await (const event of client.stream(code, { files, stdin: `${basename(source)}\n`, idempotencyKey: "auto" })) {
  if (event.type === "stdout") {
    process.stdout.write(event.text);
  } else if (event.type === "done") {
    const { run } = event;
    if (run.outcome !== "ok") {
      console.error(run.stderr || run.outcome, run.hint ?? "");
      process.exit(1);
    }
    for (const [number, image] of imagesOf(run).entries()) {
      await writeFile(join(folder, `chart-${number + 1}.png`), image);
    }
    for (const file of run.files) {
      await writeFile(join(folder, basename(file.name)), await client.files.get(file));
    }
    console.log(`${run.files.length} file and ${imagesOf(run).length} chart in ${folder}`);
  }
}
