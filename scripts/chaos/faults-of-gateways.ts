import { setTimeout as pause } from 'node:timers/promises';
import type { SeededRandom } from '../demo/seeded-random.js';
import { type ChaosStage, type Fault, type PlannedFault, seconds, startAgain } from './fault.js';
import type { GatewaySlot } from './gateway-slot.js';

const longestFreezeMs = 4_000;
const longestAbsenceMs = 2_000;

/** What is done to gateways. */
export const gatewayFaults = (gateways: number): readonly Fault[] => {
  const which = (random: SeededRandom) => random.integer(0, gateways - 1);
  return [
    {
      part: 'gateways',
      weight: 4,
      plan: (random) => kill(which(random), random.integer(0, longestAbsenceMs)),
    },
    {
      part: 'gateways',
      weight: 2,
      plan: (random) => freeze(which(random), random.integer(300, longestFreezeMs)),
    },
    { part: 'gateways', weight: 3, plan: (random) => replace(which(random)) },
  ];
};

const kill = (gateway: number, awayMs: number): PlannedFault => ({
  name: `gateway ${gateway} killed, back after ${seconds(awayMs)}`,
  mark: { killedGateway: gateway },
  cause: async (stage) => {
    const slot = slotOf(stage, gateway);
    await slot.kill();
    await pause(awayMs);
    await startAgain(() => slot.start());
  },
});

const freeze = (gateway: number, forMs: number): PlannedFault => ({
  name: `gateway ${gateway} frozen for ${seconds(forMs)}`,
  mark: { frozenGateway: gateway },
  cause: async (stage) => {
    const slot = slotOf(stage, gateway);
    slot.freeze();
    await pause(forMs);
    slot.thaw();
  },
});

const replace = (gateway: number): PlannedFault => ({
  name: `gateway ${gateway} replaced (SIGTERM)`,
  cause: async (stage) => {
    const slot = slotOf(stage, gateway);
    const how = await slot.terminate();
    await startAgain(() => slot.start());
    if (how !== 'exit code 0') throw new Error(`the gateway ended with ${how}`);
  },
});

function slotOf({ cluster }: ChaosStage, gateway: number): GatewaySlot {
  const slot = cluster.gateways[gateway];
  if (slot === undefined) throw new Error(`there is no gateway ${gateway}`);
  return slot;
}
