import type { Command } from 'commander';
import type { Document } from 'mongodb';
import type { CliContext, CommandResult } from '../context/cli-context.js';
import { CliError } from '../context/cli-error.js';
import { recordCommand } from '../context/perform.js';
import { defineCommand, type JsonOption } from './define-command.js';

interface ShardOptions extends JsonOption {
  readonly apply?: boolean;
}

/** Adds `shard`. */
export function addShardCommand(program: Command, context: CliContext): void {
  defineCommand(program, {
    usage: 'shard',
    description: 'Print the commands that shard the database by organisation, or apply them',
    examples: ['shard', 'shard --apply'],
    notes:
      'MONGODB_URL must name the mongos of a sharded cluster. Each shard gets an equal range of\norganisations. Run the command again after a shard was added: MongoDB then moves data.',
  })
    .option('--apply', 'apply the commands; without it they are only printed, for mongosh')
    .action((options: ShardOptions) => context.present(options, shard(context, options)));
}

async function shard(context: CliContext, { apply = false }: ShardOptions): Promise<CommandResult> {
  const { connections } = context;
  const { readCluster, shardCommands } = await import('../../../shared/store/connection/sharding.js');
  const database = await connections.database();
  const cluster = await readCluster(database);
  if (cluster === undefined) throw noMongos();
  // Collections are created first: those of calls and outcomes are clustered.
  if (apply) await connections.preparedDatabase();
  const commands = shardCommands(database.databaseName, cluster);
  if (apply) {
    await recordCommand(context, 'shard.apply', { after: { commands: commands.length } });
    for (const command of commands) await database.client.db('admin').command(command);
  }
  const lines = commands.map((command) => `db.adminCommand(${inShell(command)})`);
  return { document: { applied: apply, commands: lines }, text: lines.join('\n') };
}

const noMongos = (): CliError =>
  new CliError(
    'MONGODB_URL names a MongoDB that is no mongos, so there is nothing to shard: start a sharded cluster, and name ' +
      'its mongos in MONGODB_URL. Leadscore needs no sharding, a replica set will do.',
    { code: 'no_mongos' },
  );

/** A command as mongosh reads it. */
const inShell = (command: Document): string =>
  JSON.stringify(command, (_, value) => {
    const type: unknown = value?._bsontype;
    return type === 'MinKey' || type === 'MaxKey' ? `${type}()` : value;
  }).replaceAll(/"(M(?:in|ax)Key\(\))"/g, '$1');
