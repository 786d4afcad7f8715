import type { Product } from './products.ts'

/**
 * Maintainer scripts run by dpkg (deb-postinst(5), deb-prerm(5), deb-postrm(5)). They enable the
 * service without starting it: a cell has to join first, a coordinator to be initialised.
 */
export const scriptsFor = ({ unit, config, groups = [] }: Product): Record<string, string> => {
  if (unit === undefined) return {}
  const state = unit === 'shoald.service' ? 'shoald' : 'shoal'
  return {
    postinst: script(
      `case "$1" in configure)`,
      ...groups.map(name => `  getent group ${name} > /dev/null || groupadd --system ${name}`),
      `  if [ -d /run/systemd/system ]; then`,
      `    systemctl daemon-reload`,
      `    systemctl enable ${unit}`,
      `    [ -z "$2" ] || systemctl try-restart ${unit}`,
      `  fi;;`,
      `esac`,
    ),
    prerm: script(
      `if [ "$1" = remove ] && [ -d /run/systemd/system ]; then`,
      `  systemctl disable --now ${unit}`,
      `fi`,
    ),
    postrm: script(
      `if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi`,
      `if [ "$1" = purge ]; then`,
      `  rm -rf /var/lib/${state} /var/lib/private/${state} /var/cache/${state} /var/cache/private/${state}`,
      `  rm -f /etc/shoal/${config?.file ?? ''} /etc/systemd/system/multi-user.target.wants/${unit}`,
      `fi`,
    ),
  }
}

const script = (...lines: string[]): string => `#!/bin/sh\nset -e\n${lines.join('\n')}\n`
