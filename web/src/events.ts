// Server-sent events read from the answer to a POST, which the browser's own EventSource cannot make.

export interface ServerEvent {
  name: string;
  data: string;
}

/** Takes text in pieces of any size, gives the events that are complete. */
export class EventParser {
  private rest = '';
  private name = '';
  private data: string[] = [];

  push(text: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    const lines = (this.rest + text).split('\n');
    this.rest = lines.pop() ?? '';
    for (const raw of lines) {
      const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
      if (line === '') this.finish(events);
      else this.field(line);
    }
    return events;
  }

  private field(line: string) {
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'event') this.name = value;
    else if (name === 'data') this.data.push(value);
  }

  private finish(events: ServerEvent[]) {
    if (this.data.length > 0) events.push({name: this.name || 'message', data: this.data.join('\n')});
    this.name = '';
    this.data = [];
  }
}

export async function readEvents(response: Response, onEvent: (event: ServerEvent) => void): Promise<void> {
  if (!response.body) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const parser = new EventParser();
  for (;;) {
    const {done, value} = await reader.read();
    if (done) return;
    parser.push(decoder.decode(value, {stream: true})).forEach(onEvent);
  }
}
