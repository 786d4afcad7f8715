/** Settings of a unit and its drop-ins, in their order (systemd.unit(5)). */
export interface Unit {
  /** Every value since the last empty one. */
  list(setting: string): string[]
  last(setting: string): string | undefined
}

/** Specifiers of these units. */
const SPECIFIERS: Record<string, string> = { '%S': '/var/lib', '%C': '/var/cache' }

/** Reads a unit of a package and what /etc adds to it; `read` gives the text of files by a pattern. */
export const readUnit = (name: string, read: (pattern: string) => string): Unit => {
  const text = [
    read(`/lib/systemd/system/${name}.service`),
    read(`/etc/systemd/system/${name}.service.d/*.conf`),
  ].join('\n')
  const settings = [...text.matchAll(/^(\w+)=(.*)$/gm)].map(([, key = '', value = '']) => ({
    key,
    value: value.replace(/%[SC]/g, found => SPECIFIERS[found] ?? found),
  }))
  const list = (setting: string): string[] => {
    const values = settings.filter(({ key }) => key === setting).map(({ value }) => value)
    return values.slice(values.lastIndexOf('') + 1)
  }
  return { list, last: setting => list(setting).at(-1) }
}
