import * as z from 'zod'
import type { PropertyValue } from '../../../shared/wire/device.ts'

/* Messages of a printer on `device/SERIAL/report`. Unknown fields are dropped, and a field of an
   unexpected type counts as absent: firmware versions differ. */

const optional = <T extends z.ZodType>(schema: T) => schema.optional().catch(undefined)
const Num = optional(z.number())
const Text = optional(z.string().max(256))

/** Status of the printer; a delta holds only the fields that changed. */
export const PrintStatus = z.object({
  gcode_state: Text,
  mc_percent: Num,
  /** Minutes. */
  mc_remaining_time: Num,
  nozzle_temper: Num,
  nozzle_target_temper: Num,
  bed_temper: Num,
  bed_target_temper: Num,
  chamber_temper: Num,
  layer_num: Num,
  total_layer_num: Num,
  print_error: Num,
  /** `-45dBm` */
  wifi_signal: Text,
  subtask_name: Text,
  /** Feature bits, hexadecimal. */
  fun: Text,
  hms: optional(z.array(z.looseObject({})).max(64)),
  lights_report: optional(z.array(z.object({ node: z.string(), mode: z.string() })).max(16)),
})
export type PrintStatus = z.infer<typeof PrintStatus>

/** Answer of the printer to a command, beside the status in the same field. */
const Reply = z.object({
  command: z.string().max(64),
  sequence_id: z.coerce.string().max(64),
  result: Text,
  reason: Text,
  err_code: Num,
  /** 0 for a full status, 1 for a delta. */
  msg: Num,
})
export type Reply = z.infer<typeof Reply>

const Part = optional(z.looseObject({ command: z.string() }))
const Report = z.object({ print: Part, system: Part })

/** A parsed report: a status, or the answer to a command. */
export type PrinterReport =
  | { kind: 'status'; status: PrintStatus; isFull: boolean }
  | { kind: 'reply'; reply: Reply }

/** Parses a message; undefined for one that is neither a status nor an answer. */
export const parseReport = (payload: Buffer): PrinterReport | undefined => {
  const report = Report.safeParse(parseJson(payload)).data
  const part = report?.print ?? report?.system
  if (part === undefined) return undefined
  const reply = Reply.safeParse({ sequence_id: '', ...part }).data
  if (reply === undefined) return undefined
  if (reply.command !== 'push_status') return { kind: 'reply', reply }
  return { kind: 'status', status: PrintStatus.parse(part), isFull: reply.msg !== 1 }
}

const parseJson = (payload: Buffer): unknown => {
  try {
    return JSON.parse(payload.toString('utf8'))
  } catch {
    return undefined
  }
}

/** Fields of the delta over those of the status. */
export const mergeStatus = (status: PrintStatus, delta: PrintStatus): PrintStatus => ({
  ...status,
  ...Object.fromEntries(Object.entries(delta).filter(([, value]) => value !== undefined)),
})

/** Bit of `fun` that is set while the printer accepts only signed commands (not in developer mode). */
const SIGNATURE_REQUIRED = 0x2000_0000n

/** Reason why the printer accepts no commands, as far as its status tells. */
export const findLockReason = ({ fun }: PrintStatus): string | undefined => {
  if (fun === undefined || !/^[0-9a-fA-F]{1,32}$/.test(fun)) return undefined
  return (BigInt(`0x${fun}`) & SIGNATURE_REQUIRED) === 0n ? undefined : LOCKED
}

const LOCKED =
  'the printer accepts only signed commands: enable developer mode (LAN only) on its screen'

/** Error codes of a command that was refused for a lack of authorization (0502-4007 and next). */
const REFUSAL_CODES: readonly number[] = [84_033_543, 84_033_544, 84_033_545]

/** Reason why a command was refused for good; undefined for other answers. */
export const findRefusal = ({ err_code }: Reply): string | undefined =>
  err_code !== undefined && REFUSAL_CODES.includes(err_code)
    ? `the printer refuses commands (code ${err_code}): enable developer mode (LAN only) on its screen`
    : undefined

type Values = Readonly<Record<string, PropertyValue>>

/** Values of properties, without those that the status lacks. */
export const readProperties = (status: PrintStatus): Values => {
  const signal_dbm = Number(/^(-?\d+)dBm$/.exec(status.wifi_signal ?? '')?.[1] ?? Number.NaN)
  const light = status.lights_report?.find(({ node }) => node === 'chamber_light')
  const values: Record<string, PropertyValue | undefined> = {
    state: status.gcode_state?.toLowerCase(),
    progress_percent: status.mc_percent,
    remaining_minutes: status.mc_remaining_time,
    nozzle_celsius: status.nozzle_temper,
    nozzle_target_celsius: status.nozzle_target_temper,
    bed_celsius: status.bed_temper,
    bed_target_celsius: status.bed_target_temper,
    chamber_celsius: status.chamber_temper,
    layer: status.layer_num,
    layers: status.total_layer_num,
    error_code: status.print_error,
    warnings: status.hms?.length,
    job: status.subtask_name,
    light_on: light && light.mode === 'on',
    link_quality_percent: Number.isNaN(signal_dbm) ? undefined : toPercent(signal_dbm),
  }
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined),
  ) as Values
}

/** Quality of a wireless signal: 0 % at -100 dBm, 100 % at -50 dBm. */
const toPercent = (signal_dbm: number): number => Math.min(100, Math.max(0, 2 * (signal_dbm + 100)))
