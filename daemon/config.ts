import { hostname } from 'node:os'
import * as z from 'zod'
import { Catalogue, SHIPPED_CATALOGUE } from '../shared/catalogue.ts'
import { Setting } from '../shared/wire/desired.ts'
import { CoordinatorUrl } from './coordinator-url.ts'
import { DevicesConfig } from './devices/config.ts'
import { DiscoveryConfig } from './discovery/config.ts'
import { InferenceConfig } from './inference/config.ts'
import { ProbesConfig } from './probes/config.ts'

export const DEFAULT_COORDINATOR_URL = 'http://127.0.0.1:7070'

const MIB = 1024 * 1024

/** Everything that can be set for a daemon; read once, in `main`. */
export const DaemonConfig = z.strictObject({
  name: z
    .string()
    .min(1)
    .max(253)
    .default(() => hostname())
    .describe('Name shown for this cell; not an identity.'),
  tags: Setting.tags
    .default([])
    .describe('What this cell is for, beside the tags of its join token.'),
  state_dir: z
    .string()
    .min(1)
    .meta({ environment: 'SHOAL_CELL_STATE_DIR', provided: '$STATE_DIRECTORY' })
    .default('.shoal/cell')
    .describe('Folder of the identity and of samples that wait for the coordinator.'),
  coordinator: z
    .strictObject({
      url: CoordinatorUrl.optional().describe(
        'Address of the coordinator, https unless it is a loopback address. When it is not set: ' +
          `the one that enrolled this cell, and before that ${DEFAULT_COORDINATOR_URL}.`,
      ),
      join_token: z
        .string()
        .min(1)
        .max(256)
        .optional()
        .describe('One-time token; needed only until this cell has an identity.'),
      join_token_file: z
        .string()
        .min(1)
        .optional()
        .meta({ provided: '$CREDENTIALS_DIRECTORY/join-token' })
        .describe('File that holds the one-time token, instead of join_token.'),
      credential_days: z
        .number()
        .min(1 / 24)
        .max(365)
        .default(30)
        .describe('Age at which this cell replaces its credential.'),
      connect_timeout_seconds: z
        .number()
        .min(0.1)
        .max(120)
        .default(10)
        .describe('Longest time to open a connection.'),
    })
    .prefault({}),
  telemetry: z
    .strictObject({
      interval_seconds: Setting.intervalSeconds.default(5).describe('Time between samples.'),
    })
    .prefault({}),
  spool: z
    .strictObject({
      max_bytes: Setting.spoolBytes
        .default(64 * MIB)
        .describe('Maximum disk space for data that waits for the coordinator.'),
      telemetry_percent: z
        .number()
        .min(1)
        .max(100)
        .default(75)
        .describe('Share of it that samples may use; the rest is room for other classes.'),
      ack_percent: z
        .number()
        .min(1)
        .max(99)
        .default(10)
        .describe('Share of it for what became of commands, which never makes way; samples do.'),
      findings_percent: z
        .number()
        .min(1)
        .max(50)
        .default(10)
        .describe(
          'Share of it for findings of modules that ran by themselves; the oldest go first.',
        ),
      drain_bytes_per_second: Setting.drainBytesPerSecond
        .default(128 * 1024)
        .describe('Rate at which this data is sent after an outage.'),
    })
    .prefault({}),
  local: z
    .strictObject({
      port: z
        .int()
        .min(0)
        .max(65_535)
        .default(0)
        .describe('Port of an OpenAI-compatible server on 127.0.0.1; 0 is none.'),
    })
    .prefault({}),
  drain_seconds: z
    .number()
    .min(0)
    .max(3600)
    .default(30)
    .describe('Time for running answers to finish after SIGTERM.'),
  probation_seconds: z
    .number()
    .min(1)
    .max(3600)
    .default(60)
    .describe(
      'Time after which changed settings are kept if the cell still runs well with them. A lost ' +
        'connection is noticed after 8 s: with less than 10, settings that cause it may be kept.',
    ),
  log: z
    .strictObject({
      level: Setting.logLevel.default('info').describe('Least severe level that is written.'),
    })
    .prefault({}),
  probes: ProbesConfig.prefault({}),
  devices: DevicesConfig.prefault({}),
  discovery: DiscoveryConfig.prefault({}),
  inference: InferenceConfig.prefault({}),
  catalogue: Catalogue.prefault(SHIPPED_CATALOGUE).describe('Models this cell may serve.'),
})
export type DaemonConfig = z.infer<typeof DaemonConfig>
