/** Tables of the devices that cells announce. */
export interface DeviceTables {
  devices: DeviceRow
  device_cells: DeviceCellRow
}

/** A device as it was reported last, over all cells and coordinators. */
export interface DeviceRow {
  device_id: string
  /** Cell that it belongs to, or belonged to before it was removed. */
  cell_id: string
  /** Other cells that announce it: a list of ids. */
  also_on_json: string
  kind: string
  /** Facts that the cell announces. */
  facts_json: string
  /** 1 while its cell is connected and reaches it. */
  is_available: number
  labels_json: string
  first_seen: number
  /** Time of the last change of what is announced; no heartbeat writes it. */
  changed_at: number
  /** Time at which the last cell stopped announcing it; null before. */
  gone_at: number | null
  /** Grows over all rows, so that other processes read what has changed. */
  version: number
}

/** A cell that announces a device. */
export interface DeviceCellRow {
  device_id: string
  cell_id: string
  /** Time from which the cell has announced it without a long break. */
  since: number
  kind: string
  facts_json: string
  /** Time at which the cell has dropped it; null while it announces it. */
  gone_at: number | null
}
