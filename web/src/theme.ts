// Light, dark, or as the system has it. Only this choice is kept in the browser.
export type Theme = 'auto' | 'light' | 'dark';
const NAME = 'console-theme';

export function storedTheme(): Theme {
  try {
    const value = localStorage.getItem(NAME);
    return value === 'light' || value === 'dark' ? value : 'auto';
  } catch {
    return 'auto';
  }
}

export function useThemeNow(theme: Theme) {
  if (theme === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    if (theme === 'auto') localStorage.removeItem(NAME);
    else localStorage.setItem(NAME, theme);
  } catch {
    // private windows may refuse: the choice then holds until the page is left
  }
}
