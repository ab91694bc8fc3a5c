// The published client for JavaScript loses its connection in the middle of a call, and comes back for the rest. Run by
// tests/e2e/test_mcp_clients.py.
//
// Runs beside the packages that `scripts/install-test-clients npm` installs: mcp_resume.mjs URL KEY. Writes what it has
// seen as JSON.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [, , url, key] = process.argv;
const SLOW = "import time\nfor i in range(4):\n    print('step', i, flush=True)\n    time.sleep(0.5)";
const asked = []; // [method, Last-Event-ID] of each request
let cut = false;

/** The body of the first call ends in a fault once something has come that was printed. */
async function fetchAndCut(address, init) {
    asked.push([init.method, new Headers(init.headers).get("Last-Event-ID")]);
    const response = await fetch(address, init);
    if (cut || !String(init.body).includes("tools/call")) {
        return response;
    }
    cut = true;
    const reader = response.body.getReader();
    let ends = false;
    const pull = async (controller) => {
        const { value } = ends ? {} : await reader.read();
        if (value) {
            ends = Buffer.from(value).includes("step");
            controller.enqueue(value);
            return;
        }
        await reader.cancel();
        controller.error(new Error("the connection is cut"));
    };
    return new Response(new ReadableStream({ pull }), { status: response.status, headers: response.headers });
}

const client = new Client({ name: "test", version: "1" });
const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
    fetch: fetchAndCut,
    requestInit: { headers: { Authorization: `Bearer ${key}` } },
});
await client.connect(transport);
let told = "";
const call = { name: "run_python", arguments: { code: SLOW } };
const result = await client.callTool(call, undefined, { onprogress: (progress) => (told += progress.message) });
await transport.terminateSession();
await client.close();
console.log(JSON.stringify({ told, stdout: result.structuredContent.stdout, asked }));
