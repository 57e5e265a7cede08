import { EventEmitter } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** An answer that replaces the default one of a fake service. */
export interface GivenAnswer {
  readonly status: number;
  readonly code: string;
  readonly message?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An HTTP server on a free port. The connection breaks when `handle` rejects. */
export abstract class FakeService {
  protected readonly arrivals = new EventEmitter();
  private readonly server = createServer((request, response) => {
    this.handle(request, response).catch(() => response.destroy());
  });

  protected abstract handle(request: IncomingMessage, response: ServerResponse): Promise<void>;

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
  }

  get url(): string {
    const { port } = this.server.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** A temporary folder for the files of commands, and the fake service that the commands call. */
export abstract class FakeServiceDesk {
  abstract readonly service: FakeService;
  private directory = '';

  async enter(): Promise<this> {
    await this.service.start();
    this.directory = await mkdtemp(join(tmpdir(), 'leadscore-desk-'));
    return this;
  }

  async leave(): Promise<void> {
    await this.service.stop();
    await rm(this.directory, { recursive: true, force: true });
  }

  file(name: string): string {
    return join(this.directory, name);
  }

  files(): Promise<string[]> {
    return readdir(this.directory);
  }

  read(name: string): Promise<string> {
    return readFile(this.file(name), 'utf8');
  }
}
