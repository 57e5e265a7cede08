import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** What becomes of the connection whose request holds a text that is watched for. */
export type RequestFate =
  /** The request never arrives. */
  | 'lost'
  /** The request arrives and is carried out; its reply never comes, the connection is cut. */
  | 'reply-lost'
  /** The request and all that comes after it on the connection are held back, until `release`. */
  | 'held';

interface Watch {
  readonly text: Buffer;
  readonly fate: RequestFate;
  readonly seen: () => void;
}

interface Pipe {
  readonly client: Socket;
  readonly target: Socket;
  /** The end of what was sent before, in which a text that is watched for may begin. */
  tail: Buffer;
  /** What is held back. */
  toTarget: Buffer[] | undefined;
  toClient: Buffer[] | undefined;
  /** Replies are swallowed: the connection is about to be cut. */
  isMute: boolean;
}

/** A reply that was lost has been given this long to be made. */
const replyMs = 150;
const longestText = 256;

/**
 * A TCP proxy on loopback that does to the connections through it what a bad network does: cuts them, falls silent,
 * loses a request or the reply to one.
 */
export class FaultProxy {
  private readonly pipes = new Set<Pipe>();
  private readonly watches: Watch[] = [];
  private isHolding = false;

  private constructor(
    private readonly server: Server,
    private readonly targetPort: () => number,
  ) {
    server.on('connection', (client) => this.join(client));
  }

  /**
   * Starts a proxy on a free loopback port.
   * @param targetPort the loopback port that connections go to, asked for each
   */
  static async start(targetPort: () => number): Promise<FaultProxy> {
    const server = createServer({ noDelay: true });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new FaultProxy(server, targetPort);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Connections that are open now. */
  get connections(): number {
    return this.pipes.size;
  }

  /** Whether no connection is left that hears nothing any more and is about to be cut. */
  get isWhole(): boolean {
    return [...this.pipes].every((pipe) => !pipe.isMute);
  }

  /** Cuts every connection. New ones are taken. */
  cutAll(): void {
    for (const pipe of this.pipes) cut(pipe);
  }

  /** Falls silent: nothing goes through in either direction, new connections are taken and hear nothing. */
  hold(): void {
    this.isHolding = true;
    for (const pipe of this.pipes) holdBack(pipe);
  }

  /** Loses the connections that are open without a sign: nothing goes through them any more, and neither end is told. */
  loseAll(): void {
    for (const pipe of this.pipes) holdBack(pipe);
  }

  /** Lets through what was held back, and all that comes. */
  release(): void {
    this.isHolding = false;
    for (const pipe of this.pipes) letThrough(pipe);
  }

  /**
   * Watches for the next request that holds a text.
   * @param text at most 256 bytes, as it stands in the request
   * @returns resolves when it has come
   */
  next(text: string, fate: RequestFate): Promise<void> {
    const bytes = Buffer.from(text);
    if (bytes.length > longestText) throw new RangeError(`${text} is too long to be watched for`);
    return new Promise((seen) => {
      this.watches.push({ text: bytes, fate, seen });
    });
  }

  /** Watches for nothing any more. */
  forget(): void {
    this.watches.length = 0;
  }

  /** Ends every connection and takes none any more. Idempotent. */
  async stop(): Promise<void> {
    this.cutAll();
    if (!this.server.listening) return;
    this.server.close();
    await once(this.server, 'close');
  }

  private join(client: Socket): void {
    const target = connect({ port: this.targetPort(), host: '127.0.0.1', noDelay: true });
    const held = (): Buffer[] | undefined => (this.isHolding ? [] : undefined);
    const pipe: Pipe = {
      client,
      target,
      tail: Buffer.alloc(0),
      toTarget: held(),
      toClient: held(),
      isMute: false,
    };
    this.pipes.add(pipe);
    const end = () => {
      this.pipes.delete(pipe);
      cut(pipe);
    };
    for (const socket of [client, target]) socket.on('error', end).on('close', end);
    client.on('data', (bytes) => this.request(pipe, bytes));
    target.on('data', (bytes) => {
      if (pipe.isMute) return;
      if (pipe.toClient === undefined) pipe.client.write(bytes);
      else pipe.toClient.push(bytes);
    });
  }

  private request(pipe: Pipe, bytes: Buffer): void {
    const watch = this.watchedFor(pipe, bytes);
    if (watch?.fate === 'held') holdBack(pipe);
    if (watch?.fate === 'lost') cut(pipe);
    else if (pipe.toTarget === undefined) pipe.target.write(bytes);
    else pipe.toTarget.push(bytes);
    if (watch?.fate === 'reply-lost') loseReply(pipe);
    watch?.seen();
  }

  private watchedFor(pipe: Pipe, bytes: Buffer): Watch | undefined {
    if (this.watches.length === 0) {
      pipe.tail = Buffer.alloc(0);
      return undefined;
    }
    const text = Buffer.concat([pipe.tail, bytes]);
    pipe.tail = text.subarray(Math.max(0, text.length - longestText + 1));
    const index = this.watches.findIndex((watch) => text.includes(watch.text));
    if (index < 0) return undefined;
    pipe.tail = Buffer.alloc(0);
    return this.watches.splice(index, 1)[0];
  }
}

/** Cut as by a machine that has gone: with a reset, so that nothing more is read from either end. */
function cut({ client, target }: Pipe): void {
  for (const socket of [client, target]) if (!socket.destroyed) socket.resetAndDestroy();
}

function holdBack(pipe: Pipe): void {
  pipe.toTarget ??= [];
  pipe.toClient ??= [];
}

function letThrough(pipe: Pipe): void {
  const { client, target, toTarget = [], toClient = [] } = pipe;
  pipe.toTarget = undefined;
  pipe.toClient = undefined;
  for (const bytes of toTarget) target.write(bytes);
  for (const bytes of toClient) client.write(bytes);
}

/** The target reads all of the request before its end of the connection is closed in good order. */
function loseReply(pipe: Pipe): void {
  pipe.isMute = true;
  const timer = setTimeout(() => {
    pipe.target.end();
    pipe.client.resetAndDestroy();
  }, replyMs);
  pipe.client.once('close', () => clearTimeout(timer));
}
