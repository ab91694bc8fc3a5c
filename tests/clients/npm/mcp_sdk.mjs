// Uses the MCP server as the published clients for JavaScript do. Run by tests/e2e/test_mcp_clients.py.
//
// Runs beside the packages that `scripts/install-test-clients npm` installs: mcp_sdk.mjs PACKAGE URL KEY [PLATFORMCTL].
// PACKAGE is "sdk" (revisions with a handshake) or "client" (the newest one too). With PLATFORMCTL over stdio. Writes what
// it has seen as JSON.
const [, , name, url, key, program] = process.argv;

async function load() {
    if (name === "client") {
        return { ...(await import("@modelcontextprotocol/client")), ...(await import("@modelcontextprotocol/client/stdio")) };
    }
    return {
        ...(await import("@modelcontextprotocol/sdk/client/index.js")),
        ...(await import("@modelcontextprotocol/sdk/client/streamableHttp.js")),
        ...(await import("@modelcontextprotocol/sdk/client/stdio.js")),
    };
}

const { Client, StreamableHTTPClientTransport, StdioClientTransport } = await load();
const SLOW = "import time\nfor i in range(3):\n    print('step', i, flush=True)\n    time.sleep(0.4)";
const CHART = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nopen('t.csv', 'w').write('a,b\\n')\nNone";
const options = name === "client" ? { versionNegotiation: { mode: "auto" } } : {};
const client = new Client({ name: "test", version: "1" }, options);
const transport = program
    ? new StdioClientTransport({ command: program, args: ["mcp"], env: { SANDBOX_URL: url, SANDBOX_KEY: key } })
    : new StreamableHTTPClientTransport(new URL(`${url}/mcp?conversation_id=mcp-node-${name}`), {
          requestInit: { headers: { Authorization: `Bearer ${key}` } },
      });
const run = (code, more) =>
    name === "client"
        ? client.callTool({ name: "run_python", arguments: { code } }, more)
        : client.callTool({ name: "run_python", arguments: { code } }, undefined, more);

await client.connect(transport);
const seen = { revision: client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion ?? null };
seen.tools = (await client.listTools()).tools.map((tool) => tool.name);
let told = "";
let result = await run(SLOW, { onprogress: (progress) => (told += progress.message) });
seen.stdout = result.structuredContent.stdout;
seen.told = told;
result = await run(CHART);
seen.kinds = result.content.map((item) => item.type);
const picture = result.content.find((item) => item.type === "image");
seen.picture = Buffer.from(picture.data, "base64").subarray(1, 4).toString() === "PNG";
const link = result.content.find((item) => item.type === "resource_link");
seen.file = (await client.readResource({ uri: link.uri })).contents[0].text;
seen.resources = (await client.listResources()).resources.map((one) => one.name);
result = await run("1 / 0");
seen.failed = result.isError;
seen.reason = result.content[0].text;
seen.misuse = await run(5).then(() => null, (problem) => problem.code);
const stop = new AbortController();
setTimeout(() => stop.abort(), 1500);
seen.cancelled = await run("import time; time.sleep(20)", { signal: stop.signal }).then(() => false, () => true);
await transport.terminateSession?.();
await client.close();
console.log(JSON.stringify(seen));
