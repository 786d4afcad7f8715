/** Tables of the formations of devices. */
export interface SwarmTables {
  formations: FormationRow
  formation_parts: FormationPartRow
}

/** A formation that was started. Times are unix milliseconds. */
export interface FormationRow {
  id: string
  tenant_id: string
  /** Request at the gate that it used up. */
  request_id: string
  formation: string
  state: string
  /** The plan as people approved it. */
  plan_json: string
  created_by: string
  units: number
  created_at: number
  start_at: number
  /** Time at which it ends by its plan. */
  ends_at: number
  changed_at: number
  ended_at: number | null
  /** Reason of an end other than by the plan. */
  reason: string | null
  /** Key or person that has aborted it; null where the coordinator did. */
  stopped_by: string | null
  /** End of each unit; null before. */
  outcome_json: string | null
}

/** Part of a formation, and the command that carries it out. */
export interface FormationPartRow {
  formation_id: string
  cell_id: string
  part_hash: string
  command_id: string
}
