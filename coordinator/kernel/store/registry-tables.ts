/** Tables of the things that discovery found. */
export interface RegistryTables {
  discovery_traces: DiscoveryTraceRow
  discovery_trace_names: DiscoveryTraceNameRow
  discovery_links: DiscoveryLinkRow
  discovery_key_alarms: DiscoveryKeyAlarmRow
  discovery_entities: DiscoveryEntityRow
  discovery_entity_sources: DiscoveryEntitySourceRow
  discovery_entity_words: DiscoveryEntityWordRow
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
  /** Names by which its host calls itself. */
  hostnames_json: string
  /** Newest facts per module and cell. */
  claims_json: string
  born_at: number
  last_at: number
  /** Cell that saw it first; empty for the coordinator, and for rows of an older version. */
  born_by: string
  /** 1 for the address of a virtual router. */
  is_shared: number
}

/** A key or an address by which a trace is found. */
interface DiscoveryTraceNameRow {
  name: string
  trace_id: string
}

/** What the times of two traces say about them. */
interface DiscoveryLinkRow {
  a: string
  b: string
  kind: 'met' | 'clash' | 'rival'
  distance_s: number
  at: number
}

/** A trace whose key should identify one thing and is carried by others too. */
interface DiscoveryKeyAlarmRow {
  key: string
  trace_id: string
  state: 'contradicted' | 'quarantined' | 'shared'
  /** Time of the first alarm, Unix milliseconds. */
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
  /** 1 while its risk counts that it is new. */
  is_new: number
  /** 0 once every scanner that saw it has missed it often enough. */
  is_present: number
  /** Cell that found it, in whose share it counts; empty for the coordinator. */
  holder: string
  /** Order in which entities of a share are given up, lowest first: see `keepRankOf`. */
  keep_rank: number
  first_at: number
  last_at: number
  description_json: string
}

/** A module that saw an entity; `last_at` is that of the entity. */
interface DiscoveryEntitySourceRow {
  entity_id: string
  source: string
  last_at: number
}

/** A word by which people find an entity, in lower case. */
interface DiscoveryEntityWordRow {
  entity_id: string
  word: string
}

/** A decision of an operator: about identity, or about values of one entity. */
interface DiscoveryPinRow {
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
  /** Run that started last among those of which parts are stored. */
  newest_run_id: string
  newest_started_at: number
  /** Number of the part that is expected next. */
  newest_parts: number
  /** 0 when a part of it was lost: it says nothing about what it did not see. */
  newest_is_whole: number
}

/** Run in which a scanner saw a trace last. */
interface DiscoverySeenRow {
  scanner_id: string
  trace_id: string
  run: number
}
