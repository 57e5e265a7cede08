import type { Method, Operation } from '../openapi/openapi-types.js';
import { type Html, html } from './html.js';
import { colouredJson, prettyJson } from './json-code.js';

/** A call as a line of curl, in a block of code. */
export function curlExample(call: {
  readonly method: Method;
  /** With its parameters filled in. */
  readonly url: string;
  /** Sent as JSON; undefined for none. */
  readonly body: unknown;
}): Html {
  const { method, url, body } = call;
  const start = `curl ${method === 'delete' ? '-X DELETE ' : ''}'${url}' \\\n  -H "Authorization: Bearer $API_KEY"`;
  if (body === undefined) return html`<pre tabindex="0"><code>${start}</code></pre>\n`;
  const json = colouredJson(prettyJson(body).replaceAll("'", "'\\''"));
  const data = html` \\\n  -H 'Content-Type: application/json' \\\n  -d '${json}'`;
  return html`<pre tabindex="0"><code>${start}${data}</code></pre>\n`;
}

/** The address of an operation with the examples of its path parameters filled in. */
export function exampleUrl(baseUrl: string, path: string, operation: Operation): string {
  return operation.parameters.reduce(
    (url, { name, in: place, example }) =>
      place === 'path' ? url.replace(`{${name}}`, encodeURIComponent(String(example))) : url,
    baseUrl + path,
  );
}
