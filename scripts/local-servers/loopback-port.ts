import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/**
 * A TCP port that is free on loopback now. Another process may take it before the caller does, so the caller must retry
 * with another port.
 */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('the system assigned no TCP port');
  return address.port;
}

/** Whether a process accepts TCP connections on a port of loopback. */
export async function acceptsConnections(port: number): Promise<boolean> {
  const socket = connect({ host: '127.0.0.1', port });
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
