// Which file of the repository is which page of the site. All of docs/ is, and these.

import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { posix } from 'node:path'

const ELSEWHERE = {
  'README.md': 'index.md',
  'README.zh-CN.md': 'zh/index.md',
  'ARCHITECTURE.md': 'architecture.md',
  'COMPATIBILITY.md': 'compatibility.md'
}

/** The page of a file of the repository, or undefined: 'docs/zh/start.md' is 'zh/start.md'. */
export function pageOf(file) {
  return ELSEWHERE[file] ?? (file.startsWith('docs/') ? file.slice('docs/'.length) : undefined)
}

/** The file that a page is made from. A Chinese page without a text of its own has the English one. */
export function fileOf(page, root) {
  const named = Object.keys(ELSEWHERE).find((file) => ELSEWHERE[file] === page)
  const file = named ?? `docs/${page}`
  return existsSync(posix.join(root, file)) ? file : fileOf(page.replace(/^zh\//, ''), root)
}

/** Puts all pages into a folder, and the English text where a page has no Chinese one. */
export function collect(root, target) {
  rmSync(target, { recursive: true, force: true })
  cpSync(`${root}/docs`, target, { recursive: true })
  mkdirSync(`${target}/zh`, { recursive: true })
  for (const [file, page] of Object.entries(ELSEWHERE)) cpSync(`${root}/${file}`, `${target}/${page}`)
  const pages = (folder) => readdirSync(folder).filter((name) => name.endsWith('.md'))
  const translated = new Set(pages(`${target}/zh`))
  for (const page of pages(target)) {
    if (translated.has(page)) continue
    const [title, ...rest] = readFileSync(`${target}/${page}`, 'utf8').split('\n')
    writeFileSync(`${target}/zh/${page}`, [title, '', '> 这一页还没有中文，以下是英文。', ...rest].join('\n'))
  }
}
