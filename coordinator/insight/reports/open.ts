import type { Store } from '../../kernel/store/store.ts'
import type { ReleaseRecords } from './release.ts'

/** Ways in which this coordinator runs. */
interface Infrastructure {
  store: 'sqlite' | 'postgresql'
  broker: 'embedded' | 'external'
  /** False keeps every call to outside sources on this machine. */
  egress: 'on' | 'off'
  /** True while backups are made by schedule. */
  backupsScheduled: boolean
}

export interface ReportViews {
  infrastructure: Infrastructure
  /** Records of the operator about building blocks of a release. */
  releaseRecords: ReleaseRecords
}

interface ReportParts {
  store: Pick<Store, 'isShared'>
  config: {
    broker: { mode: 'embedded' | 'external' }
    upstreams: { egress: 'on' | 'off' }
    backup: { schedule?: string | undefined }
    release: ReleaseRecords
  }
}

export const openReports = ({ store, config }: ReportParts): { views: ReportViews } => ({
  views: {
    releaseRecords: config.release,
    infrastructure: {
      store: store.isShared ? 'postgresql' : 'sqlite',
      broker: config.broker.mode,
      egress: config.upstreams.egress,
      backupsScheduled: config.backup.schedule !== undefined,
    },
  },
})
