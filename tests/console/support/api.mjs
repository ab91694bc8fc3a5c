// The service, as a program uses it: with a key, without a browser.
export class Api {
  constructor(url, key, project) {
    Object.assign(this, {url, key, project});
  }

  async request(method, path, body) {
    const headers = {Authorization: `Bearer ${this.key}`};
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    if (this.project) headers['X-Project'] = this.project;
    const response = await fetch(this.url + path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 500)}`);
    return text ? JSON.parse(text) : null;
  }

  get(path) {
    return this.request('GET', path);
  }
  put(path, body) {
    return this.request('PUT', path, body);
  }
  post(path, body) {
    return this.request('POST', path, body);
  }
  delete(path) {
    return this.request('DELETE', path);
  }

  run(conversation, code, more = {}) {
    return this.post('/v1/execute', {conversation_id: conversation, code, ...more});
  }
}
