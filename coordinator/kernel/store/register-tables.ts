/** Tables of the records that operators keep. */
export interface RegisterTables {
  register_records: RegisterRow
}

/** One record of a register. Times are unix milliseconds. */
export interface RegisterRow {
  tenant_id: string
  /** Id of the register. */
  register: string
  /** Key of the record within the register of the tenant. */
  id: string
  record_json: string
  /** 1 for a new record; grows with every change. */
  revision: number
  /** 1 for a record of the example organisation; else 0. */
  is_example: number
  /** Import that has written it last; null for a single change. */
  import_id: string | null
  changed_at: number
  changed_by: string
}
