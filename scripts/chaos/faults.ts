import type { Fault } from './fault.js';
import { gatewayFaults } from './faults-of-gateways.js';
import { networkFaults } from './faults-of-network.js';
import { serverFaults } from './faults-of-servers.js';
import { workerFaults } from './faults-of-workers.js';

/** All faults that a run may cause. The first gateway of its cluster has proxies; there are `gateways` of them. */
export const chaosFaults = (gateways: number): readonly Fault[] => [
  ...serverFaults(),
  ...gatewayFaults(gateways),
  ...workerFaults(),
  ...networkFaults(),
];
