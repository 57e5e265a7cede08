import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { type Attack, json, slowDown } from '../caller/attack.js';
import type { Hostile } from '../caller/hostile.js';
import { openMany, trickle } from './connections.js';

/* Bulk jobs: their files, and what the runner does with them. */

const jobsPath = '/v1/jobs';
const megabyte = 1024 * 1024;
const answers = ['200', '201', '409 job_state_conflict', '429 job_limit_exceeded', '400 bad_request', ...slowDown];

/** Creates a job. Undefined when the service refuses. */
async function createJob(hostile: Hostile, members: object = {}): Promise<string | undefined> {
  const body = json({ model_id: hostile.modelId, ...members });
  const answer = await hostile.call({ path: jobsPath, body, headers: { 'idempotency-key': randomUUID() } });
  if (answer?.name !== '201') return undefined;
  return (JSON.parse(answer.text) as { readonly job_id: string }).job_id;
}

const upload = (hostile: Hostile, job: string, body: Buffer) =>
  hostile.call({
    method: 'PUT',
    path: `${jobsPath}/${job}/input`,
    body,
    headers: { 'content-type': 'application/octet-stream' },
  });

/** Creates a job for each of a few files, uploads it, and waits. */
async function runFiles(hostile: Hostile, files: readonly Buffer[], members: object = {}): Promise<void> {
  for (const file of files) {
    const job = await createJob(hostile, members);
    if (job !== undefined) await upload(hostile, job, file);
  }
  await hostile.untilOver();
}

export const jobs: readonly Attack[] = [
  {
    name: 'job-floods',
    does: 'creates ten bulk jobs a second under new Idempotency-Keys, and lists them a hundred times a second',
    answers,
    run: async (hostile) => {
      await Promise.all([
        hostile.atRate(10, () => createJob(hostile)),
        hostile.atRate(100, () => hostile.call({ path: `${jobsPath}?limit=100` })),
      ]);
    },
  },
  {
    name: 'slow-uploads',
    does: 'uploads the file of a bulk job one byte at a time on twelve connections',
    answers: [...answers, 'closed'],
    run: async (hostile) => {
      const job = await createJob(hostile);
      const head =
        `PUT ${jobsPath}/${job}/input HTTP/1.1\r\nHost: test\r\n` +
        `Authorization: Bearer ${hostile.secretOf('live')}\r\nContent-Length: 1000000000\r\n\r\n`;
      const sockets = await openMany(hostile, 12);
      for (const socket of sockets) socket.send(head);
      await trickle(hostile, sockets, () => ',', 50);
    },
  },
  {
    name: 'repeated-uploads',
    does: 'uploads a file for the same bulk job from four connections again and again, and hangs up',
    answers: [...answers, 'closed'],
    run: async (hostile) => {
      const job = await createJob(hostile);
      if (job === undefined) return;
      const headers = { 'content-type': 'application/octet-stream', 'content-length': String(100 * megabyte) };
      const body = Buffer.alloc(1.5 * megabyte, 'a,b\n');
      await hostile.callers(4, () =>
        hostile.call({ method: 'PUT', path: `${jobsPath}/${job}/input`, body, headers, hangUpAfterMs: 200 }),
      );
    },
  },
  {
    name: 'hostile-files',
    does: 'uploads files of a million rows, of endless quotes, of rows of a mebibyte, and gzip that inflates without end',
    answers,
    run: async (hostile) => {
      const header = 'Industry,Lead Source\n';
      const files = [
        `${header}${',\n'.repeat(megabyte)}`,
        `${header}"${'"",'.repeat(megabyte)}`,
        `${header}${`${'x'.repeat(megabyte - 10)},\n`.repeat(8)}`,
      ].map((text) => gzipSync(text));
      await runFiles(hostile, [...files, gzipSync(Buffer.alloc(1_000 * megabyte, ',\n'), { level: 1 })]);
    },
  },
  {
    name: 'hostile-rows',
    does: 'has rows of JSON scored that nest deeply, have thousands of members, or are no JSON',
    answers,
    run: async (hostile) => {
      const wide = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`f${index}`, index]));
      const rows = [
        JSON.stringify({ Industry: 'Retail' }),
        `{"Industry":${'['.repeat(100_000)}`,
        JSON.stringify({ ...wide, Industry: 'Retail' }),
        'no JSON',
        JSON.stringify({ Industry: '\u0301'.repeat(60_000) }),
      ];
      const text = Array.from({ length: 400 }, (_, index) => rows[index % rows.length]).join('\n');
      await runFiles(hostile, [gzipSync(text), gzipSync(text)], { input: { format: 'jsonl' }, explain: true });
    },
  },
];
