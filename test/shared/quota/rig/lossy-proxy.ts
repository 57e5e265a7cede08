import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP proxy that can lose a reply: the server has run the command, but the client gets no reply. */
export class LossyProxy {
  lost = 0;
  private loseNext = false;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly targetPort: number,
  ) {
    server.on('connection', (client) => this.join(client));
  }

  /** Starts a proxy on a free loopback port, in front of a loopback port. */
  static async start(targetPort: number): Promise<LossyProxy> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new LossyProxy(server, targetPort);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Cuts the connection instead of forwarding the next reply. */
  loseNextReply(): void {
    this.loseNext = true;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private join(client: Socket): void {
    const target = connect(this.targetPort, '127.0.0.1');
    const ends = [client, target];
    const cut = () => ends.forEach((socket) => void socket.destroy());
    for (const socket of ends) {
      this.sockets.add(socket);
      socket.on('error', cut);
      socket.on('close', () => {
        this.sockets.delete(socket);
        cut();
      });
    }
    client.on('data', (chunk) => target.write(chunk));
    target.on('data', (chunk) => {
      if (!this.loseNext) return void client.write(chunk);
      this.loseNext = false;
      this.lost += 1;
      cut();
    });
  }
}
