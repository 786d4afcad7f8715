import { MAX_ERRORS, mergeDocuments, ReceivedSettings } from '../../shared/wire/desired.ts'
import type { DaemonConfig } from '../config.ts'

/** The part of the configuration that may also be set from the coordinator. */
export const settingsOf = (config: DaemonConfig): ReceivedSettings => {
  const { telemetry, log, inference, spool, tags } = config
  const { slots, threads } = inference
  const { max_bytes, drain_bytes_per_second } = spool
  return {
    telemetry: { interval_seconds: telemetry.interval_seconds },
    log: { level: log.level },
    inference: {
      // Measured values are not settings
      ...(typeof slots === 'number' && { slots }),
      ...(typeof threads === 'number' && { threads }),
    },
    spool: { max_bytes, drain_bytes_per_second },
    tags,
  }
}

/** The configuration with all of that part replaced. */
export const withSettings = (
  config: DaemonConfig,
  { telemetry, log, inference, spool, tags }: ReceivedSettings,
): DaemonConfig => {
  const { threads: _, slots: __, ...otherInference } = config.inference
  return {
    ...config,
    telemetry: { ...config.telemetry, ...telemetry },
    log: { ...config.log, ...log },
    inference: { slots: 'auto', ...otherInference, ...inference },
    spool: { ...config.spool, ...spool },
    ...(tags && { tags }),
  }
}

export interface SettingFault {
  /** `telemetry.interval_seconds` */
  key: string
  message: string
}

/** Faults of a document from the coordinator, one per key. */
export const faultsOf = (document: unknown): SettingFault[] =>
  (ReceivedSettings.safeParse(document).error?.issues ?? []).slice(0, MAX_ERRORS).map(issue => ({
    key: issue.path.join('.').slice(0, 128),
    message: issue.message.slice(0, 300),
  }))

/** A document laid over the cell's own settings. It must be without faults. */
export const overlay = (local: ReceivedSettings, document: object): ReceivedSettings =>
  ReceivedSettings.parse(mergeDocuments(local, document))
