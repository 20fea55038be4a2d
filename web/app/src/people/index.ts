import './blocked.ts';
import './profile.ts';
