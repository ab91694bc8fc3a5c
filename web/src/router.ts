// Addresses of the page: /console/VIEW/…, and ?project= while an administrator looks at another project.
import {useEffect, useState} from 'preact/hooks';

const BASE = '/console';

export interface Place {
  parts: string[];
  query: URLSearchParams;
}

const decode = (part: string) => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
};

export function here(): Place {
  const path = location.pathname.startsWith(BASE) ? location.pathname.slice(BASE.length) : '';
  return {parts: path.split('/').filter(Boolean).map(decode), query: new URLSearchParams(location.search)};
}

const listeners = new Set<() => void>();
const tell = () => listeners.forEach(listener => listener());
addEventListener('popstate', tell);

/** `to` is a path below /console, perhaps with a query. The project stays as it is. */
export function href(to: string): string {
  const [path, search = ''] = to.split('?');
  const query = new URLSearchParams(search);
  const project = here().query.get('project');
  if (project && !query.has('project')) query.set('project', project);
  if (query.get('project') === '') query.delete('project');
  const text = query.toString();
  return BASE + path + (text ? '?' + text : '');
}

export function navigate(to: string, replace = false) {
  const target = href(to);
  if (replace) history.replaceState(null, '', target);
  else if (target !== location.pathname + location.search) history.pushState(null, '', target);
  tell();
  if (!replace) scrollTo(0, 0);
}

export const to = (...parts: string[]) => '/' + parts.map(encodeURIComponent).join('/');

export function usePlace(): Place {
  const [place, setPlace] = useState(here);
  useEffect(() => {
    const listener = () => setPlace(here());
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }, []);
  return place;
}
