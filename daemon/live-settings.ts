import type { Logger } from 'pino'
import type { ReceivedSettings } from '../shared/wire/desired.ts'
import type { RegisteredModels } from '../shared/wire/registered-models.ts'
import type { ReceivedEnvelopes } from '../shared/wire/safety-envelope.ts'
import type { DaemonConfig } from './config.ts'
import { settingsOf, withSettings } from './desired/settings.ts'
import type { DeviceHost } from './devices/device-host.ts'
import type { CellScope } from './discovery/cell-scope.ts'
import type { EngineLimits } from './inference/engines.ts'
import type { TelemetryService } from './services/telemetry.ts'
import type { SpoolLimits } from './uplink/backlog.ts'
import type { Uplink } from './uplink/uplink.ts'

interface LiveSettingsParts {
  telemetry: Pick<TelemetryService, 'setIntervalSeconds'>
  uplink: Pick<Uplink, 'limitSpool'>
  restartEngines: (limits: EngineLimits) => Promise<void>
  /** Serves the models that operators added at the coordinator. */
  setRegistered: (models: RegisteredModels | undefined) => Promise<void>
  devices: Pick<DeviceHost, 'setEnvelopes'>
  discovery: Pick<CellScope, 'setSettings'>
  logger: Logger
}

/** Limits of each class of spooled records, as shares of the total. */
export const spoolLimits = ({ spool }: DaemonConfig): Required<SpoolLimits> => ({
  maxBytes: shareOf(spool, Math.min(spool.telemetry_percent, 100 - computeReservedPercent(spool))),
  outboxBytes: shareOf(spool, spool.ack_percent),
  findingsBytes: shareOf(spool, spool.findings_percent),
  drainBytesPerSecond: spool.drain_bytes_per_second,
})

const computeReservedPercent = (spool: DaemonConfig['spool']): number =>
  Math.min(99, spool.ack_percent + spool.findings_percent)

const shareOf = ({ max_bytes }: DaemonConfig['spool'], percent: number): number =>
  Math.floor((max_bytes * percent) / 100)

/** The configuration in force while the daemon runs. */
export class LiveSettings {
  #config: DaemonConfig

  constructor(config: DaemonConfig) {
    this.#config = config
  }

  get tags(): string[] {
    return this.#config.tags
  }

  /**
   * Brings settings into force; engines are restarted only when theirs have changed. Limits of
   * devices are given apart, because they may be unreadable.
   */
  async apply(
    settings: ReceivedSettings,
    envelopes: ReceivedEnvelopes,
    parts: LiveSettingsParts,
  ): Promise<void> {
    const before = settingsOf(this.#config).inference
    this.#config = withSettings(this.#config, settings)
    const { telemetry, log, inference } = this.#config
    parts.logger.level = log.level
    parts.telemetry.setIntervalSeconds(telemetry.interval_seconds)
    parts.uplink.limitSpool(spoolLimits(this.#config))
    parts.devices.setEnvelopes(envelopes)
    parts.discovery.setSettings(settings.discovery ?? {})
    await parts.setRegistered(settings.models)
    const after = settingsOf(this.#config).inference
    if (before?.slots === after?.slots && before?.threads === after?.threads) return
    // it resolves when the models are loaded again, which may take longer than anybody should wait
    parts
      .restartEngines(inference)
      .catch(error => parts.logger.error({ reason: error.message }, 'engines not restarted'))
  }
}
