// Client of the Code Sandbox, for Node 20 and later, and for browsers with a proxy in between. No dependencies.

export * from "./client.js";
export { ApiError, CodeSandboxError, ConnectionFailed } from "./errors.js";
export type { Retries } from "./exchange.js";
export type * from "./models.js";
export { imagesOf, runAsText } from "./render.js";
