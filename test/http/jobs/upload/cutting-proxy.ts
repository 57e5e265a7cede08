import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP proxy before a gateway that breaks connections in the middle of what clients send. */
export class CuttingProxy {
  /** Connections that it broke. */
  cuts = 0;
  private sent = 0;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly target: URL,
    private readonly cutAt: readonly number[],
  ) {
    server.on('connection', (client) => this.join(client));
  }

  /** @param cutAt bytes of all connections after each of which it breaks one, ascending */
  static async start(gatewayUrl: string, cutAt: readonly number[]): Promise<CuttingProxy> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new CuttingProxy(server, new URL(gatewayUrl), cutAt);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private join(client: Socket): void {
    const gateway = connect(Number(this.target.port), this.target.hostname);
    const ends = [client, gateway];
    const cut = () => ends.forEach((socket) => void socket.destroy());
    for (const socket of ends) {
      this.sockets.add(socket);
      socket.on('error', cut);
      socket.on('close', () => {
        this.sockets.delete(socket);
        cut();
      });
    }
    gateway.pipe(client);
    client.on('data', (chunk) => {
      const left = (this.cutAt[this.cuts] ?? Number.POSITIVE_INFINITY) - this.sent;
      this.sent += Math.min(chunk.length, left);
      if (chunk.length < left) {
        if (gateway.write(chunk)) return;
        client.pause();
        gateway.once('drain', () => client.resume());
        return;
      }
      this.cuts += 1;
      gateway.write(chunk.subarray(0, left), cut);
    });
  }
}
