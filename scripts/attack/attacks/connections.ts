import { setTimeout as pause } from 'node:timers/promises';
import type { RawConnection } from '../../load/raw-connection.js';
import { type Attack, json, refused, slowDown } from '../caller/attack.js';
import type { Hostile } from '../caller/hostile.js';

/* Connections that keep HTTP/1.1 badly, or not at all. */

/** Head of a valid call up to its body. */
const head = (hostile: Hostile, more: string): string =>
  `POST /v1/score HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${hostile.secretOf('live')}\r\n` +
  `Content-Type: application/json\r\n${more}\r\n`;

const bodyOf = (hostile: Hostile, records = 1): Buffer =>
  json({ model_id: hostile.modelId, records: Array(records).fill({ Industry: 'Retail' }) });

const withLength = (hostile: Hostile, body: Buffer, more = ''): Buffer =>
  Buffer.concat([Buffer.from(head(hostile, `${more}Content-Length: ${body.length}\r\n`)), body]);

export async function openMany(hostile: Hostile, count: number): Promise<RawConnection[]> {
  const opened = await Promise.all(Array.from({ length: count }, () => hostile.connect()));
  return opened.filter((socket) => socket !== undefined);
}

/** Sends the bytes of a text one at a time on all sockets, until the end. */
export async function trickle(
  hostile: Hostile,
  sockets: readonly RawConnection[],
  byteAt: (index: number) => string,
  everyMs = 100,
): Promise<void> {
  for (let index = 0; !hostile.isOver; index += 1) {
    for (const socket of sockets) socket.send(byteAt(index));
    await pause(everyMs);
  }
}

export const connections: readonly Attack[] = [
  {
    name: 'idle-connections',
    does: 'opens a thousand connections and sends nothing',
    answers: [],
    run: async (hostile) => {
      await openMany(hostile, 1_000);
      await hostile.untilOver();
    },
  },
  {
    name: 'slow-heads',
    does: 'sends the headers of three hundred calls one byte at a time',
    answers: ['400 bad_request', 'closed'],
    run: async (hostile) => {
      const text = head(hostile, `X-Slow: ${'s'.repeat(10_000)}\r\n`);
      await trickle(hostile, await openMany(hostile, 300), (index) => text.charAt(index % text.length));
    },
  },
  {
    name: 'slow-bodies',
    does: 'begins ten calls a second whose bodies arrive one byte at a time',
    answers: ['400 bad_request', 'closed', ...slowDown],
    run: async (hostile) => {
      const sockets: RawConnection[] = [];
      const begin = async () => {
        const socket = await hostile.connect();
        socket?.send(head(hostile, 'Content-Length: 1000000\r\n'));
        if (socket !== undefined) sockets.push(socket);
      };
      await Promise.all([hostile.atRate(10, begin), trickle(hostile, sockets, () => ' ')]);
    },
  },
  {
    name: 'held-bodies',
    does: 'sends all but the last byte of bodies of 8 MiB and holds them',
    answers: ['400 bad_request', 'closed', ...slowDown],
    run: async (hostile) => {
      await hostile.atRate(5, async () => {
        const socket = await hostile.connect();
        socket?.send(head(hostile, 'Content-Length: 8000000\r\n'));
        socket?.send(Buffer.alloc(7_999_999, ' '));
      });
    },
  },
  {
    name: 'byte-chunks',
    does: 'sends bodies as half a million chunks of one byte',
    answers: ['200', ...refused, ...slowDown],
    run: async (hostile) => {
      const text = bodyOf(hostile).toString('latin1').padEnd(500_000, ' ');
      const bytes = Buffer.from(
        `${head(hostile, 'Transfer-Encoding: chunked\r\n')}${[...text].map((byte) => `1\r\n${byte}\r\n`).join('')}0\r\n\r\n`,
      );
      await hostile.atRate(10, async () => {
        const socket = await hostile.connect();
        socket?.send(bytes);
        if (socket !== undefined) await hostile.answerOn(socket);
      });
    },
  },
  {
    name: 'half-closed',
    does: 'closes its side of the connection after each call, and after half of one',
    answers: ['200', '400 bad_request', 'closed', ...slowDown],
    run: async (hostile) => {
      const whole = withLength(hostile, bodyOf(hostile, 200));
      await hostile.atRate(10, async (index) => {
        const socket = await hostile.connect();
        if (socket === undefined) return;
        socket.send(index % 2 === 0 ? whole : whole.subarray(0, -100));
        socket.halfClose();
        await hostile.answerOn(socket);
      });
    },
  },
  {
    name: 'unread-replies',
    does: 'asks for large replies and never reads them',
    answers: [],
    run: async (hostile) => {
      const call = withLength(
        hostile,
        json({ model_id: hostile.modelId, records: Array(500).fill({ Industry: 'Retail' }), explain: true }),
        `Idempotency-Key: unread\r\n`,
      );
      const pages = Buffer.from('GET /openapi.json HTTP/1.1\r\nHost: test\r\n\r\n'.repeat(200));
      await hostile.atRate(10, async (index) => {
        const socket = await hostile.connect();
        socket?.send(index % 2 === 0 ? call : pages);
      });
    },
  },
  {
    name: 'pipelining',
    does: 'writes two hundred calls at once on each connection',
    answers: ['200', 'closed', ...slowDown],
    run: async (hostile) => {
      const call = withLength(hostile, bodyOf(hostile));
      const calls = Buffer.concat(Array(200).fill(call));
      await hostile.callers(4, async () => {
        const socket = await hostile.connect();
        if (socket === undefined) return;
        socket.send(calls);
        for (let index = 0; index < 200; index += 1) {
          if ((await hostile.answerOn(socket)).name === 'closed') break;
        }
        socket.destroy();
      });
    },
  },
  {
    name: 'large-heads',
    does: 'sends a thousand headers, headers of 100 KB, and a header a thousand times',
    answers: ['200', '400 bad_request', 'closed', ...slowDown],
    run: async (hostile) => {
      const body = bodyOf(hostile);
      const heads = [
        `X-Large: ${'x'.repeat(100_000)}\r\n`,
        Array.from({ length: 900 }, (_, index) => `X-${index}: a\r\n`).join(''),
        'Cookie: a=b\r\n'.repeat(1_000),
        'Authorization: Bearer x\r\n'.repeat(300),
      ].map((more) => withLength(hostile, body, more));
      await hostile.atRate(20, async (index) => {
        const socket = await hostile.connect();
        socket?.send(heads[index % heads.length] ?? '');
        if (socket !== undefined) await hostile.answerOn(socket);
        socket?.destroy();
      });
    },
  },
  {
    name: 'expectations',
    does: 'expects 100-continue, which it gets, and never sends the body',
    answers: ['400 bad_request', 'closed', ...slowDown],
    run: async (hostile) => {
      await hostile.atRate(10, async () => {
        const socket = await hostile.connect();
        socket?.send(head(hostile, 'Expect: 100-continue\r\nContent-Length: 8000000\r\n'));
      });
    },
  },
  {
    name: 'not-http',
    does: 'sends random bytes, TLS, HTTP/2 and contradictions in the length of bodies',
    answers: ['400 bad_request', 'closed'],
    run: async (hostile) => {
      const texts = [
        ...['\x16\x03\x01\0\xa5\x01\0\0\xa1\x03\x03', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', '\0'.repeat(4_096)],
        ...['GET /v1/usage\r\n\r\n', 'CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n', `GET /${'a'.repeat(100_000)}`],
        head(hostile, 'Content-Length: 3\r\nTransfer-Encoding: chunked\r\n'),
        `${head(hostile, 'Transfer-Encoding: chunked\r\n')}zz\r\n`,
      ];
      await hostile.callers(4, async (index) => {
        const socket = await hostile.connect();
        socket?.send(texts[index % texts.length] ?? '');
        if (socket !== undefined) await hostile.answerOn(socket);
        socket?.destroy();
      });
    },
  },
  {
    name: 'resets',
    does: 'opens connections and resets them, in the middle of a call or before it',
    answers: [],
    run: async (hostile) => {
      const whole = withLength(hostile, bodyOf(hostile, 100));
      await hostile.callers(4, async (index) => {
        const socket = await hostile.connect();
        socket?.send(whole.subarray(0, (index % 4) * 500));
        await pause(2);
        socket?.socket.resetAndDestroy();
      });
    },
  },
];
