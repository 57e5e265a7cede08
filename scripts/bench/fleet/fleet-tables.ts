import type { LeadMemory } from './fleet-counts.js';
import type { Window } from './fleet-load.js';

/** Windows of one row of a table. */
export interface FleetRow {
  readonly table: string;
  readonly label: string;
  readonly windows: readonly Window[];
}

export interface FleetFigures {
  readonly rows: readonly FleetRow[];
  readonly leadMemory: LeadMemory | undefined;
  /** Loads of large models, and calls that needed one. */
  readonly cache: { readonly calls: number; readonly loads: number } | undefined;
}

/** The tables of a fleet; each can be measured alone. */
export const fleetTables = [
  'fleet-beside-one',
  'fleet-cold',
  'fleet-rotation',
  'fleet-gateways',
  'fleet-workers',
  'fleet-partitions',
  'fleet-hot',
  'fleet-active',
  'fleet-stored',
  'fleet-cache',
] as const;
export type FleetTable = (typeof fleetTables)[number];
