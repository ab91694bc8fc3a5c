// What the tests look at: conversations of a project, made by real runs. The names say what they are for.
import {Api} from './api.mjs';

const SALES = `import pandas as pd

# What was sold, by city
sales = pd.read_csv("sales.csv")
total = sales.groupby("city", as_index=False).amount.sum()
total.to_csv("total.csv", index=False)
print(f"{len(sales)} rows read")
total`;

const CHART = `import matplotlib.pyplot as plt
import pandas as pd

total = pd.read_csv("total.csv")
plt.figure(figsize=(7, 3.2))
plt.bar(total.city, total.amount, color="#0a6a65")
plt.title("Sales by city")
plt.ylabel("amount")
plt.show()`;

const FAILS = `import json

def average(values):
    return sum(values) / len(values)

rows = json.loads("[]")
print("about to divide")
print(average(rows))`;

const ANSI = String.raw`print("\x1b[1;32mpassed\x1b[0m 12 tests, \x1b[31mfailed 1\x1b[0m, \x1b[33mskipped 2\x1b[0m")
print("\x1b[38;2;255;100;0mtrue colour\x1b[0m \x1b[38;5;45mpalette\x1b[0m \x1b[4munderlined\x1b[0m \x1b[7minverse\x1b[0m")
print("progress 10 %\rprogress 99 %")`;

const FILES = `import json
open("report.json", "w").write(json.dumps({"cities": 4, "ok": True}))
open("notes.txt", "w").write("first line\\nsecond line\\n")
open("data.bin", "wb").write(bytes(range(256)) * 20)
open("drawing.svg", "w").write('<svg xmlns="http://www.w3.org/2000/svg" width="120" height="60"><rect width="120" height="60" fill="#2457c5"/></svg>')
open("page.html", "w").write("<h1>A page</h1><p>Made by code.</p>")
open("big.bin", "wb").write(bytes(5 << 20))
from PIL import Image
Image.new("RGB", (160, 90), "#cc6633").save("picture.png")
with open("long.csv", "w") as file:
    file.write("day,visits,note\\n")
    for day in range(2000):
        file.write(f'{day},{day * 37 % 101},"a, ""quoted"" note"\\n')`;

const CSV = Array.from({length: 40}, (_, n) => `${['Oslo', 'Rome', 'Lima', 'Kyoto'][n % 4]},${(n * 37) % 90}`).join(
  '\n',
);

async function seedNotebook(api) {
  const runs = {};
  const first = await api.run('sales-report', SALES, {
    agent: 'reports',
    files: [{name: 'sales.csv', content: 'city,amount\n' + CSV + '\n'}],
  });
  const total = first.files.find(file => file.name === 'total.csv');
  runs.table = first;
  const again = more => api.run('sales-report', more.code, {agent: 'reports', ...more});
  runs.chart = await again({code: CHART, files: [{name: 'total.csv', file_id: total.file_id}]});
  runs.error = await again({code: FAILS});
  runs.ansi = await again({code: ANSI});
  runs.files = await again({code: FILES});
  runs.value = await again({code: '{"answer": 6 * 7, "list": [1, 2, 3]}'});
  runs.timeout = await again({code: 'import time\nprint("waiting")\ntime.sleep(30)', timeout_s: 1});
  runs.memory = await again({
    code: 'block = bytearray(700 << 20)\nfor at in range(0, len(block), 4096):\n    block[at] = 1',
  });
  runs.exit = await again({code: 'import sys\nsys.exit(3)'});
  runs.long = await again({code: 'for n in range(3000):\n    print("line", n)'});
  return runs;
}

/** A few conversations more, so that the list is one. */
async function seedList(api) {
  const names = [
    'weather-2026-11-29',
    'invoice:4711',
    'forecast.q4',
    'onboarding-42',
    'translate-fr',
    'inventory-check',
  ];
  for (const [index, name] of names.entries())
    for (let n = 0; n <= index % 3; n++) await api.run(name, `print("run ${n}")`, index % 2 ? {agent: 'plain'} : {});
}

export async function seed(admin, outside) {
  await admin.post('/v1/projects', {name: 'demo'});
  await admin.post('/v1/projects', {name: 'empty'});
  const {key} = await admin.post('/v1/projects/demo/keys', {label: 'tests'});
  const {key: emptyKey} = await admin.post('/v1/projects/empty/keys', {label: 'tests'});
  const api = new Api(admin.url, key);
  await api.put('/v1/agents/reports', {
    tools: [
      {
        name: 'send_mail',
        entrypoint: 'tools.mail:send',
        description: 'Sends a mail.',
        parameters: {type: 'object', properties: {}},
      },
    ],
  });
  await api.put('/v1/agents/plain', {});
  await api.put('/v1/agents/notebook', {});
  await api.put('/v1/agents/notebook/env/CODE_INTERPRETER_SESSION', {value: 'true'});
  await seedList(api);
  const runs = await seedNotebook(api);
  return {key, emptyKey, api, runs, outsideUrl: outside};
}
