export interface FlowTables {
  flow_runs: FlowRunRow
  flow_steps: FlowStepRow
  ramp_ups: RampUpRow
}

/** One run of a flow. Times are Unix milliseconds. */
export interface FlowRunRow {
  id: string
  tenant_id: string
  flow_id: string
  /** Synergy that started the run; null for a run started by itself. */
  synergy_id: string | null
  /** Steps as they were when the run was started; a change of the configuration leaves it alone. */
  steps_json: string
  /** Key whose rights the steps have. */
  key_id: string
  request_id: string
  job_id: string
  state: string
  reason: string | null
  /** 1 once a person has cancelled the run. */
  cancelled: number
  /** Fence of the job's claim that may write; only grows. */
  fence: number
  created_at: number
  changed_at: number
  ended_at: number | null
}

/** One call of a run: a step, or the compensation of a step. */
export interface FlowStepRow {
  run_id: string
  /** Position of the step, from 0. */
  position: number
  /** 0 for the step itself, 1 for its compensation. */
  undo: number
  state: string
  /** Request at a gate that the step waits for. */
  gate_request_id: string | null
  /** Task that the step waits for. */
  task_id: string | null
  output_json: string | null
  reason: string | null
  started_at: number
  ended_at: number | null
}

/** One ramp-up of settings in stages. Times are Unix milliseconds. */
export interface RampUpRow {
  id: string
  tenant_id: string
  key_id: string
  request_id: string
  job_id: string
  state: string
  reason: string | null
  /** The approved plan, and the settings of its cells before. */
  plan_json: string
  /** Stage in progress, from 0. */
  stage: number
  stage_began_at: number
  /** Time since which every cell of the stage has its settings; null before. */
  held_since: number | null
  /** Time since which a cell with the settings serves no requests; null while all do. */
  lost_since: number | null
  /** Failed requests on the cells in the hour before, in percent; null until the first look. */
  errors_before_percent: number | null
  /** 1 once a person has asked to abort it. */
  aborted: number
  /** Fence of the job's claim that may write; only grows. */
  fence: number
  created_at: number
  changed_at: number
  ended_at: number | null
}
