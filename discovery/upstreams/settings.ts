import type { SiteSettings } from '../lookup-run.ts'

/** Settings of one source, as the operator has written them. */
export interface SourceSettings {
  /** Address in place of the built-in one, without a trailing slash. */
  url?: string | undefined
  key?: string | undefined
  key_file?: string | undefined
  /** Options that the source declares. */
  [option: string]: unknown
}

export interface UpstreamSettings {
  /** `off`: answers come only from the cache. */
  egress: 'on' | 'off'
  /** Address of a page or mailbox at which a source can complain. */
  contact?: string | undefined
  sources: Readonly<Record<string, SourceSettings | undefined>>
  site: SiteSettings
}

export const hasKeySetting = (settings: SourceSettings | undefined): boolean =>
  settings?.key !== undefined || settings?.key_file !== undefined
