/** Tables of the models that operators added. */
export interface ModelTables {
  models: ModelRow
}

/** A model, or another id for one. The row of a removed one stays until the next change. */
export interface ModelRow {
  id: string
  /** The catalogue entry; null for an alias. */
  entry_json: string | null
  /** Id of the model that an alias stands for; null for a model. */
  alias_of: string | null
  /** Ids of the cells that it is for; an empty list means all. */
  cells_json: string
  /** Grows over all rows and over the configuration of cells together. */
  version: number
  /** 1 once it is removed. */
  removed: number
  changed_at: number
  changed_by: string
}
