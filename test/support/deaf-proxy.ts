import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP proxy on loopback whose open connections can be lost without a sign, as by a router that forgets them. */
export class DeafProxy {
  /** How many connections were made through it. */
  taken = 0;
  private readonly pairs = new Set<readonly [client: Socket, target: Socket]>();

  private constructor(
    private readonly server: Server,
    private readonly targetPort: number,
  ) {
    server.on('connection', (client) => this.join(client));
  }

  /** Starts a proxy on a free loopback port, in front of a loopback port. */
  static async start(targetPort: number): Promise<DeafProxy> {
    const server = createServer({ noDelay: true });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new DeafProxy(server, targetPort);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Nothing goes through the connections that are open now any more, and neither end is told. New ones work. */
  deafen(): void {
    for (const ends of this.pairs) for (const end of ends) end.removeAllListeners('data').resume();
  }

  async stop(): Promise<void> {
    this.server.close();
    for (const ends of this.pairs) for (const end of ends) end.destroy();
    await once(this.server, 'close');
  }

  private join(client: Socket): void {
    this.taken += 1;
    const target = connect({ port: this.targetPort, host: '127.0.0.1', noDelay: true });
    const pair = [client, target] as const;
    this.pairs.add(pair);
    const cut = () => {
      this.pairs.delete(pair);
      for (const end of pair) end.destroy();
    };
    for (const end of pair) end.on('error', cut).on('close', cut);
    client.on('data', (bytes) => target.write(bytes));
    target.on('data', (bytes) => client.write(bytes));
  }
}
