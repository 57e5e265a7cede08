import type { CodeSample, MediaType, Operation, Parameter } from './openapi-types.js';

/** Content types whose body is a file. */
const isFile = (contentType: string): boolean => contentType.endsWith('octet-stream');

/** A call as its samples write it. */
interface SampleCall {
  readonly method: string;
  /** With examples for its parameters. */
  readonly path: string;
  /** Without the key. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The body as JSON; null is the file `leads.csv`, undefined none. */
  readonly body: unknown;
  readonly reply: 'json' | 'text' | 'headers';
}

/** The operation as a call of curl, Node and Python. They read the address and the key from the environment. */
export function codeSamples(method: string, path: string, operation: Operation): readonly CodeSample[] {
  const call = sampleCall(method, path, operation);
  return [
    { lang: 'Shell', label: 'curl', source: inCurl(call) },
    { lang: 'JavaScript', label: 'Node', source: inNode(call) },
    { lang: 'Python', label: 'Python', source: inPython(call) },
  ];
}

function sampleCall(method: string, path: string, { parameters, requestBody, responses }: Operation): SampleCall {
  const required = parameters.filter((parameter) => parameter.required);
  const filled = required
    .filter((parameter) => parameter.in === 'path')
    .reduce((text, parameter) => text.replace(`{${parameter.name}}`, encodeURIComponent(exampleOf(parameter))), path);
  const [contentType, media] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  const ok = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1];
  const types = Object.keys(ok?.content ?? {});
  return {
    method: method.toUpperCase(),
    path: filled,
    headers: [
      ...required
        .filter((parameter) => parameter.in === 'header')
        .map((parameter) => [parameter.name, exampleOf(parameter)] as const),
      ...(contentType === undefined ? [] : [['Content-Type', contentType] as const]),
    ],
    body: contentType === undefined ? undefined : isFile(contentType) ? null : firstExample(media),
    reply: types.length === 0 ? 'headers' : types.includes('application/json') ? 'json' : 'text',
  };
}

const exampleOf = ({ name, example }: Parameter): string => {
  if (example === undefined) throw new Error(`the required parameter ${name} has no example`);
  return String(example);
};

const firstExample = (media: MediaType | undefined): unknown => Object.values(media?.examples ?? {})[0]?.value ?? {};

function inCurl({ method, path, headers, body, reply }: SampleCall): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
  const options =
    method === 'HEAD' ? ' --head' : `${method === 'GET' ? '' : ` -X ${method}`}${reply === 'headers' ? ' -i' : ''}`;
  return [
    `curl -sS${options} "$LEADSCORE_URL${path}"`,
    '-H "Authorization: Bearer $LEADSCORE_KEY"',
    ...headers.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [body === null ? '--data-binary @leads.csv' : `-d ${quoted(indented(body))}`]),
  ].join(' \\\n  ');
}

function inNode({ method, path, headers, body, reply }: SampleCall): string {
  const result = { json: 'await reply.json()', text: 'await reply.text()', headers: 'reply.status, reply.headers' };
  return [
    ...(body === null ? ["import { readFile } from 'node:fs/promises';", ''] : []),
    `const reply = await fetch(\`\${process.env.LEADSCORE_URL}${path}\`, {`,
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    '  headers: {',
    "    Authorization: 'Bearer ' + process.env.LEADSCORE_KEY,",
    ...headers.map(([name, value]) => `    '${name}': '${value}',`),
    '  },',
    ...(body === undefined
      ? []
      : [body === null ? "  body: await readFile('leads.csv')," : `  body: JSON.stringify(${below(indented(body))}),`]),
    '});',
    'if (!reply.ok) throw new Error(await reply.text());',
    `console.log(${result[reply]});`,
  ].join('\n');
}

function inPython({ method, path, headers, body, reply }: SampleCall): string {
  const result = {
    json: 'json.load(reply)',
    text: 'reply.read().decode()',
    headers: 'reply.status, dict(reply.headers)',
  };
  const usesJson = reply === 'json' || (body !== undefined && body !== null);
  return [
    `import ${usesJson ? 'json, ' : ''}os, urllib.request`,
    '',
    'request = urllib.request.Request(',
    `    os.environ["LEADSCORE_URL"] + "${path}",`,
    `    method="${method}",`,
    '    headers={',
    '        "Authorization": "Bearer " + os.environ["LEADSCORE_KEY"],',
    ...headers.map(([name, value]) => `        "${name}": "${value}",`),
    '    },',
    ...(body === undefined
      ? []
      : [
          body === null
            ? '    data=open("leads.csv", "rb").read(),'
            : `    data=json.dumps(${below(inPythonWords(body), 4)}).encode(),`,
        ]),
    ')',
    'with urllib.request.urlopen(request, timeout=15) as reply:',
    `    print(${result[reply]})`,
  ].join('\n');
}

const indented = (value: unknown): string => JSON.stringify(value, null, 2);

/** A literal of several lines, moved to the right of its first one. */
const below = (text: string, columns = 2): string => text.replaceAll('\n', `\n${' '.repeat(columns)}`);

/** JSON as a literal of Python. Texts are matched first, so that words in them stay. */
const inPythonWords = (value: unknown): string =>
  indented(value).replaceAll(/"(?:[^"\\]|\\.)*"|true|false|null/g, (word) => pythonWords[word] ?? word);

const pythonWords: Readonly<Record<string, string>> = { true: 'True', false: 'False', null: 'None' };
