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

interface CheckedDocument {
  /** Members that this build can read. */
  readable: Record<string, unknown>
  /** Faults of the other members. */
  faults: SettingFault[]
}

/** Checks each member of a document from the coordinator by itself: a faulty one spoils no other. */
export const checkDocument = (document: object): CheckedDocument => {
  const checked = Object.entries(document).map(([member, value]) => ({
    member,
    value,
    issues: ReceivedSettings.safeParse({ [member]: value }).error?.issues ?? [],
  }))
  const sound = checked.filter(({ issues }) => issues.length === 0)
  const faults = checked.flatMap(({ member, issues }) =>
    issues.map(({ path, message }) => ({
      key: (path.join('.') || member).slice(0, 128),
      message: message.slice(0, 300),
    })),
  )
  return {
    readable: Object.fromEntries(sound.map(({ member, value }) => [member, value])),
    faults: faults.slice(0, MAX_ERRORS),
  }
}

/** A document laid over the cell's own settings. It must be without faults. */
export const overlay = (local: ReceivedSettings, document: object): ReceivedSettings =>
  ReceivedSettings.parse(mergeDocuments(local, document))
