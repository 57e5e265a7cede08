import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** Fault for the connection whose request contains a watched text. */
export type RequestFate =
  /** The request never arrives. */
  | 'lost'
  /** The request arrives and is executed. Its reply is discarded and the connection is cut. */
  | 'reply-lost'
  /** The request and everything after it on the connection are held until `release`. */
  | 'held';

interface Watch {
  readonly text: Buffer;
  readonly fate: RequestFate;
  readonly seen: () => void;
}

interface Pipe {
  readonly client: Socket;
  readonly target: Socket;
  /** Last bytes that were sent; a watched text may begin in them. */
  tail: Buffer;
  /** Held bytes; undefined while bytes pass. */
  toTarget: Buffer[] | undefined;
  toClient: Buffer[] | undefined;
  /** Replies are discarded; the connection is about to be cut. */
  isMute: boolean;
}

/** Time for the server to execute a request whose reply is lost. */
const replyMs = 150;
const maxTextBytes = 256;

/**
 * A TCP proxy on loopback with the faults of a bad network: cut connections, silence, lost requests and lost replies.
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
   * @param targetPort gives the loopback port of the server, for each connection
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

  /** Number of open connections. */
  get connections(): number {
    return this.pipes.size;
  }

  /** No connection is about to be cut. */
  get isWhole(): boolean {
    return [...this.pipes].every((pipe) => !pipe.isMute);
  }

  /** Cuts every connection. New ones are accepted. */
  cutAll(): void {
    for (const pipe of this.pipes) cut(pipe);
  }

  /** Holds all bytes in both directions. New connections are accepted and held as well. */
  hold(): void {
    this.isHolding = true;
    for (const pipe of this.pipes) holdBack(pipe);
  }

  /** Holds the open connections only: neither end sees an error, as when a network path breaks. */
  loseAll(): void {
    for (const pipe of this.pipes) holdBack(pipe);
  }

  /** Sends the held bytes and lets everything pass. */
  release(): void {
    this.isHolding = false;
    for (const pipe of this.pipes) letThrough(pipe);
  }

  /**
   * Watches for the next request that contains a text.
   * @param text at most 256 bytes
   * @returns resolves when the request arrives
   */
  next(text: string, fate: RequestFate): Promise<void> {
    const bytes = Buffer.from(text);
    if (bytes.length > maxTextBytes)
      throw new RangeError(`a watched text must have at most ${maxTextBytes} bytes: ${text}`);
    return new Promise((seen) => {
      this.watches.push({ text: bytes, fate, seen });
    });
  }

  /** Ends all watches. */
  forget(): void {
    this.watches.length = 0;
  }

  /** Cuts every connection and closes the port. Idempotent. */
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
    pipe.tail = text.subarray(Math.max(0, text.length - maxTextBytes + 1));
    const index = this.watches.findIndex((watch) => text.includes(watch.text));
    if (index < 0) return undefined;
    pipe.tail = Buffer.alloc(0);
    return this.watches.splice(index, 1)[0];
  }
}

/** A reset, as from a machine that crashed: neither end reads anything more. */
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

/** The server's side is closed in order, so that the server reads the whole request first. */
function loseReply(pipe: Pipe): void {
  pipe.isMute = true;
  const timer = setTimeout(() => {
    pipe.target.end();
    pipe.client.resetAndDestroy();
  }, replyMs);
  pipe.client.once('close', () => clearTimeout(timer));
}
