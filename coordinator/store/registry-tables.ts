/** Tables of the things that discovery found. */
export interface RegistryTables {
  discovery_traces: DiscoveryTraceRow
  discovery_trace_names: DiscoveryTraceNameRow
  discovery_links: DiscoveryLinkRow
  discovery_entities: DiscoveryEntityRow
  discovery_pins: DiscoveryPinRow
  discovery_deltas: DiscoveryDeltaRow
  discovery_scanners: DiscoveryScannerRow
  discovery_seen: DiscoverySeenRow
}

/** Sightings with the same keys at one site. */
export interface DiscoveryTraceRow {
  id: string
  entity_id: string
  /** Id of the entity that exists while this is its oldest trace. */
  founded_id: string
  site: string
  keys_json: string
  spans_json: string
  /** Newest facts per module and cell. */
  claims_json: string
  born_at: number
  last_at: number
  /** 1 for the address of a virtual router. */
  is_shared: number
}

/** A key or an address by which a trace is found. */
interface DiscoveryTraceNameRow {
  name: string
  trace_id: string
}

/** What the times of two traces say about them. */
export interface DiscoveryLinkRow {
  a: string
  b: string
  kind: 'met' | 'clash'
  distance_s: number
  at: number
}

/** A thing, as its traces describe it. */
export interface DiscoveryEntityRow {
  id: string
  type: string
  risk_level: string
  risk_points: number
  /** Modules that saw it, each between blanks. */
  sources: string
  /** 0 once every scanner that saw it has missed it often enough. */
  is_present: number
  first_at: number
  last_at: number
  description_json: string
}

/** A decision of an operator: about identity, or about values of one entity. */
export interface DiscoveryPinRow {
  id: string
  kind: 'together' | 'apart' | 'values'
  /** Entity that it was made for. */
  entity_id: string
  body_json: string
  actor: string
  at: number
}

/** A change of the inventory; rows are only added, and deleted when they are old. */
export interface DiscoveryDeltaRow {
  seq: number
  at: number
  kind: string
  entity_id: string
  body_json: string
}

/** A module on a cell with one input: only its own runs can be compared. */
export interface DiscoveryScannerRow {
  id: string
  cell_id: string
  module: string
  /** Run that was completed last. */
  run_id: string
  /** Number of completed runs. */
  runs: number
  at: number
}

/** Run in which a scanner saw a trace last. */
export interface DiscoverySeenRow {
  scanner_id: string
  trace_id: string
  run: number
}
