// Requests to the service. The key is sent once, at sign-in; from then on an HttpOnly cookie says who asks, and this
// module adds the token that shows that a change was asked for by this page.
import type {
  Agent,
  Conversation,
  Environment,
  Key,
  Project,
  Reply,
  RunSummary,
  Session,
  SessionList,
  Status,
} from './types';

let session: Session | null = null;
let actingIn: string | null = null; // the project an administrator looks at; null: the session's own
const onSignedOut = new Set<() => void>();

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly type: string,
    message: string,
    readonly param?: string,
  ) {
    super(message);
  }
}

export const currentSession = () => session;
export const currentProject = () => actingIn ?? session?.project ?? 'default';

export function actIn(project: string | null) {
  actingIn = project && project !== session?.project ? project : null;
}

export function whenSignedOut(callback: () => void) {
  onSignedOut.add(callback);
  return () => onSignedOut.delete(callback);
}

/** An address of the service, for links, pictures and event streams, which cannot carry a header. */
export function address(path: string): string {
  if (!actingIn) return path;
  return path + (path.includes('?') ? '&' : '?') + 'project=' + encodeURIComponent(actingIn);
}

export const pathOf = (...parts: string[]) => '/v1/' + parts.map(encodeURIComponent).join('/');

function headersFor(method: string, body: unknown): Headers {
  const headers = new Headers();
  if (body !== undefined) headers.set('Content-Type', 'application/json');
  if (method !== 'GET' && session) headers.set('X-CSRF-Token', session.csrf_token);
  if (actingIn) headers.set('X-Project', actingIn);
  return headers;
}

async function problemOf(response: Response): Promise<ApiError> {
  try {
    const {error} = await response.json();
    return new ApiError(response.status, String(error.type), String(error.message), error.param);
  } catch {
    return new ApiError(response.status, 'internal', `The service answered with status ${response.status}.`);
  }
}

export async function send(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers: headersFor(method, body),
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: 'same-origin',
      redirect: 'error',
      signal,
    });
  } catch (problem) {
    if (signal?.aborted) throw problem;
    throw new ApiError(0, 'unreachable', 'The service cannot be reached. Is it running, and are you connected?');
  }
  if (response.ok) return response;
  const problem = await problemOf(response);
  if (response.status === 401 && session) {
    session = null;
    actingIn = null;
    onSignedOut.forEach(callback => callback());
  }
  throw problem;
}

async function json<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const response = await send(method, path, body, signal);
  return (response.status === 204 ? null : await response.json()) as T;
}

const query = (fields: Record<string, string | number | null | undefined>) => {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(fields))
    if (value != null && value !== '') search.set(name, String(value));
  const text = search.toString();
  return text ? '?' + text : '';
};

// ---- signing in and out

export async function resume(): Promise<Session | null> {
  try {
    session = await json<Session>('GET', '/console/session');
  } catch (problem) {
    if (!(problem instanceof ApiError) || problem.status !== 401) throw problem;
    session = null;
  }
  return session;
}

export async function signIn(key: string): Promise<Session> {
  session = await json<Session>('POST', '/console/login', {key});
  return session;
}

export async function signOut(): Promise<void> {
  try {
    await send('POST', '/console/logout');
  } finally {
    session = null;
    actingIn = null;
  }
}

// ---- conversations, runs, files

export interface ConversationPage {
  conversations: Conversation[];
  next: string | null;
}

export const listConversations = (fields: {q?: string; agent?: string; after?: string; limit?: number}) =>
  json<ConversationPage>('GET', '/v1/conversations' + query(fields));
export const getConversation = (id: string) => json<Conversation>('GET', pathOf('conversations', id));
export const deleteConversation = (id: string) => json<null>('DELETE', pathOf('conversations', id));
export const listRuns = (id: string, after?: string) =>
  json<{runs: RunSummary[]; next: string | null}>(
    'GET',
    pathOf('conversations', id, 'runs') + query({limit: 200, after}),
  );
export const getRun = (id: string, signal?: AbortSignal) => json<Reply>('GET', pathOf('runs', id), undefined, signal);

export const fileAddress = (id: string, download = false) =>
  address(pathOf('files', id) + (download ? '?download=1' : ''));

/** The beginning of a file as text, or all of it. */
export async function fileText(id: string, bytes: number): Promise<string> {
  const headers = new Headers({Range: `bytes=0-${bytes - 1}`});
  const response = await fetch(fileAddress(id), {headers, credentials: 'same-origin', redirect: 'error'});
  if (!response.ok) throw await problemOf(response);
  return new TextDecoder().decode(await response.arrayBuffer());
}

// ---- sessions, agents, the service

export const listSessions = () => json<SessionList>('GET', '/v1/sessions');
export async function endSession(id: string, project?: string): Promise<void> {
  const before = actingIn;
  if (project) actIn(project);
  try {
    await json('DELETE', pathOf('conversations', id, 'session'));
  } finally {
    actingIn = before;
  }
}

async function all<T>(path: string, member: string): Promise<T[]> {
  const found: T[] = [];
  let after: string | null = null;
  do {
    const page: Record<string, unknown> = await json('GET', path + query({limit: 200, after}));
    found.push(...(page[member] as T[]));
    after = page.next as string | null;
  } while (after);
  return found;
}

export const listAgents = () => all<Agent>('/v1/agents', 'agents');
export const getAgent = (name: string) => json<Agent>('GET', pathOf('agents', name));
export const putAgent = (name: string) => json<Agent>('PUT', pathOf('agents', name), {});
export const deleteAgent = (name: string) => json<null>('DELETE', pathOf('agents', name));

export interface Settings {
  env: Record<string, string>;
  effective: {stateful: boolean; timeout_s: number};
  warnings: string[];
}
export const getSettings = (agent: string) => json<Settings>('GET', pathOf('agents', agent, 'env'));
export const putSetting = (agent: string, name: string, value: string) =>
  json<{warnings: string[]}>('PUT', pathOf('agents', agent, 'env', name), {value});
export const deleteSetting = (agent: string, name: string) =>
  json<null>('DELETE', pathOf('agents', agent, 'env', name));

export const getStatus = () => json<Status>('GET', '/v1/status');
let environment: Promise<Environment> | null = null;
export const getEnvironment = () =>
  (environment ??= json<Environment>('GET', '/v1/environment').catch(problem => {
    environment = null;
    throw problem;
  }));

// ---- projects and keys

export const listProjects = () => all<Project>('/v1/projects', 'projects');
export const createProject = (name: string) => json<Project>('POST', '/v1/projects', {name});
export const listKeys = (project: string) => all<Key>(pathOf('projects', project, 'keys'), 'keys');
export const createKey = (project: string, label: string) =>
  json<Key & {key: string}>('POST', pathOf('projects', project, 'keys'), {label});
export const revokeKey = (project: string, id: string) => json<null>('DELETE', pathOf('projects', project, 'keys', id));
